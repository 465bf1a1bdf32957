// Colours from the theme's --st-* variables; patterns for what is not a tensor at rest.

// Tensors that the program hands out: the theme has no colour that means nothing else.
const OUTPUT = "#cf5c9a";
const GHOSTS = { copy: "blue", nocopy: "green", drop: "red" };

function readPalette(host) {
  const style = getComputedStyle(host);
  const read = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const palette = { font: read("font") || "sans-serif" };
  for (const name of [
    "text-color",
    "background-color",
    "secondary-background-color",
    "border-color",
    "primary-color",
  ]) {
    palette[name.replace("-color", "")] = read(name);
  }
  for (const name of ["blue", "green", "orange", "yellow", "violet", "red", "gray"])
    palette[name] = read(`${name}-color`);
  palette.kinds = [palette.blue, palette.green, OUTPUT, palette.violet];
  palette.ink = "#ffffff";
  return palette;
}

// A label that reads on any colour: light letters with a dark rim.
function writeOn(pen, palette, text, x, y) {
  pen.lineJoin = "round";
  pen.lineWidth = 2.5;
  pen.strokeStyle = "rgb(0 0 0 / 45%)";
  pen.strokeText(text, x, y);
  pen.fillStyle = palette.ink;
  pen.fillText(text, x, y);
}

// A label on a veiled box, or on one of any strength: letters of the text's colour with a rim of the ground.
function writeOnPale(pen, palette, text, x, y) {
  pen.lineJoin = "round";
  pen.lineWidth = 3;
  pen.strokeStyle = mix(palette.background, 0.75);
  pen.strokeText(text, x, y);
  pen.fillStyle = palette.text;
  pen.fillText(text, x, y);
}

// What is written beside a picture, paler than text and still to be read.
function paleText(palette) {
  return mix(palette.text, 0.66);
}

// The ground of a label in the ground's colour: the colour that it stands for, away from that one.
function tagColour(palette, colour) {
  return `color-mix(in srgb, ${colour} 72%, ${palette.text})`;
}

function mix(colour, alpha) {
  return `color-mix(in srgb, ${colour} ${Math.round(alpha * 100)}%, transparent)`;
}

// Diagonal lines; `slope` 1 rises to the right.
function hatch(context, colour, step, slope, width) {
  const ratio = devicePixelRatio || 1,
    size = Math.max(4, Math.round(step * ratio));
  const tile = new OffscreenCanvas(size, size),
    pen = tile.getContext("2d");
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

// Colour, distance of the lines, their slope and width.
function patternsOf(palette) {
  return {
    scratch: [mix(palette.gray, 0.75), 6, 1, 1.2],
    arriving: [mix(palette.background, 0.8), 7, 1, 2],
    leaving: [mix(palette.background, 0.8), 7, -1, 2],
  };
}

function makePatterns(context, palette) {
  const made = Object.entries(patternsOf(palette)).map(([name, pattern]) => [name, hatch(context, ...pattern)]);
  return Object.fromEntries(made);
}
