// A pen that keeps what it fills and outlines, as [colour, left, top, right, bottom] inside of its clips,
// and what it writes, with the rim of the letters and the fills since the last text.
export class Pen {
  marks = [];
  texts = [];
  clips = [];
  fills = [];
  #saved = [];

  save() {
    this.#saved.push([...this.clips]);
  }
  restore() {
    this.clips = this.#saved.pop();
  }
  beginPath() {
    this.path = [Infinity, Infinity, -Infinity, -Infinity];
  }
  rect(x, y, width, height) {
    const [left, top, right, bottom] = this.path;
    this.path = [Math.min(left, x), Math.min(top, y), Math.max(right, x + width), Math.max(bottom, y + height)];
  }
  moveTo(x, y) {
    this.rect(x, y, 0, 0);
  }
  lineTo(x, y) {
    this.rect(x, y, 0, 0);
  }
  arc(x, y, radius) {
    this.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  }
  clip() {
    this.clips.push(this.path);
  }
  #keep(colour, [left, top, right, bottom]) {
    const seen = this.clips.reduce(
      ([l, t, r, b], clip) => [Math.max(l, clip[0]), Math.max(t, clip[1]), Math.min(r, clip[2]), Math.min(b, clip[3])],
      [left, top, right, bottom],
    );
    if (seen[0] < seen[2] && seen[1] < seen[3]) this.marks.push([colour, ...seen]);
  }
  fill() {
    this.#keep(this.fillStyle, this.path);
  }
  stroke() {
    this.#keep(this.strokeStyle, this.path);
  }
  fillRect(x, y, width, height) {
    this.fills.push(this.fillStyle);
    this.#keep(this.fillStyle, [x, y, x + width, y + height]);
  }
  strokeRect(x, y, width, height) {
    const half = this.lineWidth / 2;
    this.#keep(this.strokeStyle, [x - half, y - half, x + width + half, y + height + half]);
  }
  fillText(text, x, y) {
    this.texts.push({ text, x, y, colour: this.fillStyle, rim: this.rim, fills: this.fills });
    [this.rim, this.fills] = [null, []];
  }
  strokeText() {
    this.rim = this.strokeStyle;
  }
  clearRect() {}
  setTransform() {}
  setLineDash() {}
  measureText(text) {
    return { width: 6 * [...text].reduce((sum, letter) => sum + (letter > "\u2000" ? 2 : 1), 0) };
  }
}
