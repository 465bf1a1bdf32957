// What the map draws, and where.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";
import { Pen } from "./pen.js";

const MAP = "components/memory_map/";
const names = ["plan", "colours", "axes", "draw", "strip", "curve", "area", "overlay"].map(
  (name) => `${MAP}${name}.js`,
);
const { Axes, PlanData, drawTimes, drawTop, drawGrid, fitted } = declared(
  ["Axes", "PlanData", "drawTimes", "drawTop", "drawGrid", "fitted"],
  ["components/words.js", "components/palette.js", ...names],
  "const TABLES = {}, GLOSSARY = {};",
);

const palette = { font: "sans", gray: "gray", orange: "orange", red: "red", green: "green" };
for (const name of ["text", "background", "border", "primary", "secondary-background"]) palette[name] = name;

// One tensor through ten slots of a second each, in the granules 100 to 300 of 1000, of 1 KiB each.
function board() {
  const seconds = () => new Float64Array(10).fill(1);
  const plan = new PlanData(
    { granule: 1024, fast_granules: 1000, value_names: ["a"], regions: [] },
    {
      slot_fast: seconds(),
      slot_slow: seconds(),
      slot_stall: seconds(),
      slot_begin: Float64Array.from({ length: 11 }, (_, slot) => 3 * slot),
      slot_reserved: new Float64Array(10),
      group_granules: Float64Array.of(200),
      group_value: Uint32Array.of(0),
      move_time: Int32Array.of(4),
      move_group: Int32Array.of(0),
      move_action: Uint8Array.of(1),
      stay_group: Int32Array.of(0),
      stay_offset: Float64Array.of(100),
      stay_start: Int32Array.of(0),
      stay_end: Int32Array.of(10),
    },
  );
  const axes = new Axes();
  axes.load(plan);
  axes.resize(600, 500);
  return { plan, axes };
}

const LEFT = 62,
  RIGHT = 8;

test("what an instruction takes is drawn inside of the strip, also where the window cuts it", () => {
  const { plan, axes } = board(),
    pen = new Pen();
  Object.assign(axes, { x0: 2.5, x1: 6.5 });
  drawTimes(pen, axes, plan, { palette });
  const bars = pen.marks.filter(([colour]) => colour === "orange" || colour === "red");
  assert.equal(bars.length, 10);
  assert.ok(bars.every(([, left, , right]) => left >= LEFT && right <= axes.width - RIGHT));
});

test("what marks a tensor that the window cuts stays inside of the map", () => {
  const { plan, axes } = board(),
    pen = new Pen();
  Object.assign(axes, { y0: 150, y1: 180 });
  const ghost = { at: [120, 100, 2, 8], tone: "copy", label: "" },
    look = { palette: { ...palette, blue: "ghost" }, labels: [], colouring: { fill: () => "stay" } };
  const state = { move: 0, selected: 0, hover: 0, overlay: { move: 0, ghosts: [ghost] } };
  drawTop(pen, axes, plan, look, state);
  const inside = pen.marks.filter(([, , top, , bottom]) => top >= axes.top && bottom <= axes.bottom);
  for (const colour of ["stay", "ghost", "text"])
    assert.ok(
      inside.some((mark) => mark[0] === colour),
      colour,
    );
  const outside = pen.marks.filter((mark) => !inside.includes(mark)).map(([colour]) => colour);
  assert.deepEqual(
    outside.filter((colour) => ["stay", "ghost", "text"].includes(colour)),
    [],
    "only what lies over all strips",
  );
});

test("a label is cut where its box ends, however wide its letters are", () => {
  const pen = new Pen();
  for (const text of ["漢字漢字漢字 and narrow letters", "narrow letters and 漢字漢字漢字", "𠀀𠀁𠀂𠀃𠀄𠀅𠀆𠀇𠀈𠀉"]) {
    for (const room of [60, 75, 90]) {
      const cut = fitted(pen, text, room),
        [last] = [...text].slice([...cut].length - 1);
      assert.ok(cut.endsWith("…") && text.startsWith(cut.slice(0, -1)) && cut.isWellFormed(), cut);
      assert.ok(pen.measureText(cut).width <= room, `${cut} in ${room}`);
      assert.ok(pen.measureText(cut + last).width > room, `${cut} leaves room`);
    }
  }
  assert.deepEqual([fitted(pen, "short", 60), fitted(pen, "no room", 20)], ["short", ""]);
});

test("a picture as SVG holds no sign that XML may not hold", () => {
  globalThis.OffscreenCanvas = class {
    getContext() {
      const data = [0, 0, 0, 255];
      return { clearRect() {}, fillRect() {}, measureText: () => ({ width: 9 }), getImageData: () => ({ data }) };
    }
  };
  const { SvgPen } = declared(["SvgPen"], ["components/words.js", `${MAP}svg.js`]);
  const pen = new SvgPen(10, 10);
  pen.fillText("\x01<a>\ud800 漢字 𠀀", 0, 0);
  assert.match(pen.text(), />\ufffd&lt;a&gt;\ufffd 漢字 𠀀<\/text>/);
});

test("no two neighbours on an axis have one label", () => {
  const { plan, axes } = board();
  for (const [mode, window] of [
    ["slots", { y0: 503, y1: 504 }],
    ["slots", {}],
    ["seconds", { x0: 9.9997, x1: 10.0003 }],
  ]) {
    const pen = new Pen();
    Object.assign(axes, { mode }).fit();
    Object.assign(axes, window);
    plan.granule = 100_000;
    drawGrid(pen, axes, plan, palette);
    const labels = pen.texts.map(({ text, y }) => `${y === 8 ? "time" : "address"} ${text}`);
    assert.ok(labels.length > 4);
    assert.deepEqual(labels, [...new Set(labels)]);
  }
});
