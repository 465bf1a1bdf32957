// Colours from the theme's --st-* variables; patterns for what is not a tensor at rest.

const HEAT = ["#3a2a78", "#3f4f9a", "#2f7392", "#2a9485", "#5cb56a", "#b3c84a", "#f2cf45"];
const GHOSTS = { copy: "blue", nocopy: "green", drop: "red" };

function readPalette(host) {
  const style = getComputedStyle(host);
  const read = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const palette = { font: read("font") || "sans-serif" };
  for (const name of ["text-color", "background-color", "secondary-background-color", "border-color", "primary-color"]) {
    palette[name.replace("-color", "")] = read(name);
  }
  for (const name of ["blue", "green", "orange", "violet", "red", "gray"]) palette[name] = read(`${name}-color`);
  palette.kinds = [palette.blue, palette.green, palette.orange, palette.violet];
  palette.ink = "#ffffff";
  return palette;
}

function mix(colour, alpha) {
  return `color-mix(in srgb, ${colour} ${Math.round(alpha * 100)}%, transparent)`;
}

// Diagonal lines; `slope` 1 rises to the right.
function hatch(context, colour, step, slope, width) {
  const ratio = devicePixelRatio || 1, size = Math.max(4, Math.round(step * ratio));
  const tile = new OffscreenCanvas(size, size), pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = width * ratio;
  pen.beginPath();
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, slope > 0 ? size : 0);
    pen.lineTo(shift + size, slope > 0 ? 0 : size);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

function makePatterns(context, palette) {
  return {
    scratch: hatch(context, mix(palette.gray, 0.75), 6, 1, 1.2),
    arriving: hatch(context, mix(palette.background, 0.8), 7, 1, 2),
    leaving: hatch(context, mix(palette.background, 0.8), 7, -1, 2),
    stall: hatch(context, palette.red, 5, 1, 1.6),
  };
}

function legendOf(palette, colour, plan) {
  const css = (direction, line, ground) =>
    `background:repeating-linear-gradient(${direction}deg,${line} 0 1.5px,${ground} 1.5px 5px)`;
  const items = [];
  if (colour === "kind") {
    palette.kinds.forEach((c, k) => items.push([`background:${c}`, KINDS[k]]));
  } else {
    items.push([`width:90px;background:linear-gradient(90deg,${HEAT.join(",")})`, "little to much saved per byte"]);
  }
  items.push([css(135, palette.gray, "transparent"), "scratch of the instruction"]);
  items.push([css(135, palette.background, palette.gray), "prefetch under way"]);
  items.push([css(45, palette.background, palette.gray), "write-back under way"]);
  items.push([`background:${palette.red}`, "stall"]);
  if (plan.regions.length) items.push([`height:3px;background:${palette.violet}`, "loop, branch"]);
  const keys = "← → step · ↑ ↓ same tensor · space plays · wheel zooms · drag pans · f fits";
  return items.map(([style, text]) => `<span><i style="${style}"></i>${text}</span>`).join("")
    + `<span class="keys">${keys}</span>`;
}
