// Pictures of the map as it is, and links to exactly this view.

const TITLE = 26,
  LINE = 20,
  MARGIN = 10,
  PICTURE_RATIO = 2;
const LETTERS = "pndPNd";

MapView.prototype.title = function () {
  const { plan, state, link, treeName } = this;
  const move = plan.numMoves ? ` · move ${state.move + 1} of ${plan.numMoves}` : "";
  return `${link.program} · ${treeName}${move}`;
};

// Draws title, map and legend; `pens`: one for the base layer, one for the top layer.
MapView.prototype.paint = function (pens, look, foot) {
  const { axes, plan, state } = this,
    [base, top] = pens,
    { palette } = look;
  base.fillStyle = palette.background;
  base.fillRect(0, -TITLE, axes.width, axes.height + TITLE + foot);
  drawBase(base, axes, plan, look);
  drawTop(top, axes, plan, look, { ...state, hover: NONE });
  top.fillStyle = palette.text;
  top.font = `600 13px ${palette.font}`;
  top.textAlign = "left";
  top.textBaseline = "middle";
  top.fillText(this.title(), MARGIN, -TITLE / 2);
  for (const item of this.legendItems(top, palette)) paintItem(top, item, axes.height + 12, look);
};

// The legend as it stands on the page, in as many lines as it needs in the picture: of each item its
// chip, its text, and where it goes.
MapView.prototype.legendItems = function (pen, palette) {
  let [x, y] = [MARGIN, 0];
  pen.font = `11px ${palette.font}`;
  return [...this.root.querySelectorAll(".legend > span")].map((item) => {
    const chip = item.querySelector("i"),
      wide = chip.offsetWidth,
      needed = wide + 4 + pen.measureText(item.textContent).width;
    if (x + needed > this.axes.width - MARGIN && x > MARGIN) [x, y] = [MARGIN, y + LINE];
    const place = { chip, wide, text: item.textContent, x, y };
    x += needed + 14;
    return place;
  });
};

// The room that the legend needs below the map.
MapView.prototype.footOf = function () {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  const items = this.legendItems(pen, this.look.palette);
  return 24 + (items.at(-1)?.y ?? 0);
};

function paintItem(pen, { chip, wide, text, x, y: row }, from, { palette, patterns }) {
  const y = from + row,
    tall = Math.min(10, chip.offsetHeight),
    style = getComputedStyle(chip),
    { pattern } = chip.dataset;
  const stops = style.backgroundImage.match(/rgba?\([^)]*\)/g) ?? [style.backgroundColor];
  const isScale = style.backgroundImage.startsWith("linear");
  const colours = pattern ? [pattern === "scratch" ? palette.background : palette.gray] : isScale ? stops : [stops[0]];
  colours.forEach((colour, i) => {
    pen.fillStyle = colour;
    pen.fillRect(x + (i * wide) / colours.length, y - tall / 2, wide / colours.length, tall);
  });
  if (pattern) {
    pen.fillStyle = patterns[pattern];
    pen.fillRect(x, y - tall / 2, wide, tall);
  }
  if (style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0) {
    const dash = style.outlineStyle === "dotted" ? [1, 2] : [3, 2];
    outline(pen, [x + 0.5, y - tall / 2 + 0.5, wide - 1, tall - 1], style.outlineColor, 1.2, dash);
  }
  pen.fillStyle = palette.text;
  pen.fillText(text, x + wide + 4, y);
}

MapView.prototype.pictureName = function (ending) {
  return `${this.title().replace(/[^\w.]+/g, "-")}.${ending}`;
};

MapView.prototype.savePng = function () {
  const { axes } = this,
    foot = this.footOf(),
    pens = [0, 1].map(() => {
      const canvas = new OffscreenCanvas(axes.width * PICTURE_RATIO, (axes.height + TITLE + foot) * PICTURE_RATIO);
      const pen = canvas.getContext("2d");
      pen.setTransform(PICTURE_RATIO, 0, 0, PICTURE_RATIO, 0, TITLE * PICTURE_RATIO);
      return pen;
    });
  this.paint(pens, { ...this.look, patterns: makePatterns(pens[0], this.look.palette) }, foot);
  pens[0].setTransform(1, 0, 0, 1, 0, 0);
  pens[0].drawImage(pens[1].canvas, 0, 0);
  pens[0].canvas.convertToBlob({ type: "image/png" }).then((blob) => this.download(blob, this.pictureName("png")));
};

MapView.prototype.saveSvg = function () {
  const { axes, look } = this,
    foot = this.footOf(),
    pen = new SvgPen(axes.width, axes.height + TITLE + foot);
  const patterns = {};
  for (const [name, pattern] of Object.entries(patternsOf(look.palette)))
    patterns[name] = pen.pattern(name, ...pattern);
  pen.parts.push(`<g transform="translate(0 ${TITLE})">`);
  this.paint([pen, pen], { ...look, patterns }, foot);
  pen.parts.push("</g>");
  this.download(new Blob([pen.text()], { type: "image/svg+xml" }), this.pictureName("svg"));
};

MapView.prototype.download = function (blob, name) {
  const href = URL.createObjectURL(blob);
  saveAs(href, name);
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  this.say(`Saved ${name}`);
};

// The link: a plan, spelled out where others have none like it, the line from where a variation leaves
// it, and the look.
MapView.prototype.linkText = function () {
  const { plan, state, link } = this;
  const query = new URLSearchParams({ program: link.program, plan: link.plan, move: state.move + 1 });
  if (link.from >= 0) query.set("line", `${link.from}-${lettersOf(plan.move_action.subarray(link.from, plan.tip))}`);
  for (const name of ["content", "game"]) if (link[name]) query.set(name, link[name]);
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
  if (this.link.unfit) {
    this.say(this.link.unfit, REASON_MS);
    return;
  }
  const text = this.linkText();
  this.root.dataset.link = text;
  copyText(
    text,
    () => this.say("Link copied"),
    () => window.prompt("Copy this link", text),
  );
};

MapView.prototype.lookNow = function () {
  const { axes } = this,
    look = { colour: this.colour, axis: axes.mode, curve: this.curve };
  if (!axes.isAll) look.window = [axes.x0, axes.x1, axes.y0, axes.y1].map((v) => v.toPrecision(6)).join("_");
  if (this.state.area) look.area = areaText(this.state.area);
  return look;
};

MapView.prototype.takeLook = function (look) {
  if (Object.hasOwn(COLOURINGS, look.colour)) this.colour = look.colour;
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
  const area = areaOfText(this.plan, look.area);
  if (area && !this.isSimple) this.area.open(area);
};
