// Pictures of the map as it is, and links to exactly this view.

const TITLE = 26,
  FOOT = 44,
  LINE = 20,
  PICTURE_RATIO = 2;
const LETTERS = "pndPNd";

MapView.prototype.title = function () {
  const { plan, state, link, treeName } = this;
  const move = plan.numMoves ? ` · move ${state.move + 1} of ${plan.numMoves}` : "";
  return `${link.program} · ${treeName}${move}`;
};

// Draws title, map and legend; `pens`: one for the base layer, one for the top layer.
MapView.prototype.paint = function (pens, look) {
  const { axes, plan, state } = this,
    [base, top] = pens,
    { palette } = look;
  base.fillStyle = palette.background;
  base.fillRect(0, -TITLE, axes.width, axes.height + TITLE + FOOT);
  drawBase(base, axes, plan, look);
  drawTop(top, axes, plan, look, { ...state, hover: NONE });
  top.fillStyle = palette.text;
  top.font = `600 13px ${palette.font}`;
  top.textAlign = "left";
  top.textBaseline = "middle";
  top.fillText(this.title(), 10, -TITLE / 2);
  this.paintLegend(top, look);
};

// The legend as it stands on the page, in lines as wide as the picture.
MapView.prototype.paintLegend = function (pen, { palette, patterns }) {
  let x = 10,
    y = this.axes.height + 12;
  pen.font = `11px ${palette.font}`;
  for (const item of this.root.querySelectorAll(".legend > span")) {
    const chip = item.querySelector("i"),
      wide = chip.offsetWidth,
      tall = Math.min(10, chip.offsetHeight);
    const needed = wide + 4 + pen.measureText(item.textContent).width;
    if (x + needed > this.axes.width) {
      x = 10;
      y += LINE;
    }
    const { backgroundImage: image, backgroundColor: plain } = getComputedStyle(chip),
      { pattern } = chip.dataset;
    const stops = image.match(/rgba?\([^)]*\)/g) ?? [plain];
    const colours = pattern
      ? [pattern === "scratch" ? palette.background : palette.gray]
      : image.startsWith("linear")
        ? stops
        : [stops[0]];
    colours.forEach((colour, i) => {
      pen.fillStyle = colour;
      pen.fillRect(x + (i * wide) / colours.length, y - tall / 2, wide / colours.length, tall);
    });
    if (pattern) {
      pen.fillStyle = patterns[pattern];
      pen.fillRect(x, y - tall / 2, wide, tall);
    }
    pen.fillStyle = palette.text;
    pen.fillText(item.textContent, x + wide + 4, y);
    x += needed + 14;
  }
};

MapView.prototype.pictureName = function (ending) {
  return `${this.title().replace(/[^\w.]+/g, "-")}.${ending}`;
};

MapView.prototype.savePng = function () {
  const { axes } = this,
    pens = [0, 1].map(() => {
      const canvas = new OffscreenCanvas(axes.width * PICTURE_RATIO, (axes.height + TITLE + FOOT) * PICTURE_RATIO);
      const pen = canvas.getContext("2d");
      pen.setTransform(PICTURE_RATIO, 0, 0, PICTURE_RATIO, 0, TITLE * PICTURE_RATIO);
      return pen;
    });
  this.paint(pens, { ...this.look, patterns: makePatterns(pens[0], this.look.palette) });
  pens[0].setTransform(1, 0, 0, 1, 0, 0);
  pens[0].drawImage(pens[1].canvas, 0, 0);
  pens[0].canvas.convertToBlob({ type: "image/png" }).then((blob) => this.download(blob, this.pictureName("png")));
};

MapView.prototype.saveSvg = function () {
  const { axes, look } = this,
    pen = new SvgPen(axes.width, axes.height + TITLE + FOOT);
  const patterns = {};
  for (const [name, pattern] of Object.entries(patternsOf(look.palette)))
    patterns[name] = pen.pattern(name, ...pattern);
  pen.parts.push(`<g transform="translate(0 ${TITLE})">`);
  this.paint([pen, pen], { ...look, patterns });
  pen.parts.push("</g>");
  this.download(new Blob([pen.text()], { type: "image/svg+xml" }), this.pictureName("svg"));
};

MapView.prototype.download = function (blob, name) {
  const href = URL.createObjectURL(blob);
  saveAs(href, name);
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  this.say(`Saved ${name}`);
};

// The link: a plan that every visitor has, the line from where it leaves that plan, and the look.
MapView.prototype.linkText = function () {
  const { plan, state, link } = this;
  const query = new URLSearchParams({ program: link.program, plan: link.plan, move: state.move + 1 });
  if (link.from >= 0) query.set("line", `${link.from}-${lettersOf(plan.move_action.subarray(link.from, plan.tip))}`);
  if (state.selected !== NONE) query.set("select", state.selected);
  for (const [name, value] of Object.entries(this.lookNow())) query.set(name, value);
  return `${location.origin}${location.pathname}?${query}`;
};

// The actions as ui/model/play/line.py writes them: each letter with how often it repeats.
function lettersOf(actions) {
  let text = "";
  for (let i = 0, run = 1; i < actions.length; i += run, run = 1) {
    while (i + run < actions.length && LETTERS[actions[i + run]] === LETTERS[actions[i]]) run++;
    text += LETTERS[actions[i]] + (run > 1 ? run : "");
  }
  return text;
}

MapView.prototype.copyLink = function () {
  const text = this.linkText();
  this.root.dataset.link = text;
  const done = () => this.say("Link copied"),
    failed = () => window.prompt("Copy this link", text);
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, failed);
  else failed();
};

MapView.prototype.lookNow = function () {
  const { axes } = this,
    look = { colour: this.colour, axis: axes.mode, curve: this.curve };
  if (!axes.isAll) look.window = [axes.x0, axes.x1, axes.y0, axes.y1].map((v) => v.toPrecision(6)).join("_");
  return look;
};

MapView.prototype.takeLook = function (look) {
  if (look.colour in COLOURINGS) this.colour = look.colour;
  if (CURVES.includes(look.curve)) this.curve = look.curve;
  if (["slots", "seconds"].includes(look.axis)) {
    this.axes.mode = look.axis;
    this.axes.fit();
  }
  const window = (look.window ?? "").split("_").map(Number);
  if (window.length === 4 && window.every(Number.isFinite)) {
    [this.axes.x0, this.axes.x1, this.axes.y0, this.axes.y1] = window;
    this.axes.clamp();
  }
};
