// A stand-in for a canvas context that writes SVG: the part of it that the map draws with.

// Signs that no XML may hold, not even escaped.
const NO_XML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

class SvgPen {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], defs: [], groups: 0, saved: [], dash: [], clips: 0 });
    Object.assign(this, {
      fillStyle: "#000",
      strokeStyle: "#000",
      lineWidth: 1,
      font: "11px sans-serif",
      textAlign: "left",
      textBaseline: "middle",
    });
    this.ruler = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    this.colours = new Map();
  }

  // Patterns by name; the canvas has its own kind.
  pattern(name, colour, step, slope, width) {
    const lines = slope > 0 ? `M0 ${step}L${step} 0` : `M0 0L${step} ${step}`;
    const { hex, alpha } = this.colour(colour);
    this.defs.push(
      `<pattern id="${name}" width="${step}" height="${step}" patternUnits="userSpaceOnUse">` +
        `<path d="${lines}" stroke="${hex}" stroke-opacity="${alpha}" stroke-width="${width}"/></pattern>`,
    );
    return `url(#${name})`;
  }

  // Any CSS colour as hex and opacity: other programs know no color-mix().
  colour(css) {
    if (css.startsWith("url(")) return { hex: css, alpha: 1 };
    if (!this.colours.has(css)) {
      const { ruler } = this;
      ruler.clearRect(0, 0, 1, 1);
      ruler.fillStyle = css;
      ruler.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = ruler.getImageData(0, 0, 1, 1).data;
      const hex = `#${[r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
      this.colours.set(css, { hex, alpha: Number((a / 255).toFixed(3)) });
    }
    return this.colours.get(css);
  }

  get paint() {
    const { hex, alpha } = this.colour(this.fillStyle);
    return `fill="${hex}"${alpha < 1 ? ` fill-opacity="${alpha}"` : ""}`;
  }

  get line() {
    const { hex, alpha } = this.colour(this.strokeStyle),
      dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `fill="none" stroke="${hex}" stroke-opacity="${alpha}" stroke-width="${this.lineWidth}"${dash}`;
  }

  save() {
    const { fillStyle, strokeStyle, lineWidth, font, textAlign, textBaseline, dash, groups } = this;
    this.saved.push({ fillStyle, strokeStyle, lineWidth, font, textAlign, textBaseline, dash, groups });
  }

  restore() {
    const { groups, ...state } = this.saved.pop();
    for (; this.groups > groups; this.groups--) this.parts.push("</g>");
    Object.assign(this, state);
  }

  clip() {
    const name = `clip${this.clips++}`;
    this.defs.push(`<clipPath id="${name}"><path d="${this.path}"/></clipPath>`);
    this.parts.push(`<g clip-path="url(#${name})">`);
    this.groups++;
  }

  clearRect() {}
  setLineDash(dash) {
    this.dash = dash;
  }
  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  beginPath() {
    this.path = "";
  }
  moveTo(x, y) {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${short(x)} ${short(y)}`;
  }
  rect(x, y, width, height) {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
  }
  arc(x, y, radius) {
    this.path += `M${short(x - radius)} ${short(y)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
  }
  fill() {
    this.parts.push(`<path d="${this.path}" ${this.paint}/>`);
  }
  stroke() {
    this.parts.push(`<path d="${this.path}" ${this.line}/>`);
  }
  fillRect(x, y, width, height) {
    if (width > 0 && height > 0) this.parts.push(`<rect ${box4(x, y, width, height)} ${this.paint}/>`);
  }
  strokeRect(x, y, width, height) {
    this.parts.push(`<rect ${box4(x, y, width, height)} ${this.line}/>`);
  }

  fillText(text, x, y, room = Infinity) {
    const narrow = this.measureText(text).width > room ? ` textLength="${room}" lengthAdjust="spacingAndGlyphs"` : "";
    this.write(text, x, y, this.paint + narrow);
  }
  strokeText(text, x, y) {
    this.write(text, x, y, `${this.line} stroke-linejoin="round"`);
  }

  write(text, x, y, look) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const shift = { top: "0.8em", middle: "0.35em", bottom: "-0.2em" }[this.textBaseline];
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" dy="${shift}" text-anchor="${anchor}" style="font:${escapeText(this.font)}" ${look}>${escapeText(text.replace(NO_XML, "\ufffd"))}</text>`,
    );
  }

  text() {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">` +
      `<defs>${this.defs.join("")}</defs>${this.parts.join("")}</svg>`
    );
  }
}

function short(value) {
  return Number(value.toFixed(2));
}
function box4(x, y, width, height) {
  return `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
}
