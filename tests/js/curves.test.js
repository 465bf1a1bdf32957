// Curves and strips, as far as nothing is drawn: spans, points, columns, words about the search.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const HEAD = "const LEFT = 10, RIGHT = 5;";
const { spanOf, pointsOf, curvesOf } = declared(
  ["spanOf", "pointsOf", "curvesOf"],
  ["components/words.js", `${MAP}plan.js`, `${MAP}curve.js`],
  `${HEAD} const TABLES = {};`,
);
const { columnsOf } = declared(["columnsOf"], [`${MAP}strip.js`], HEAD);
const TREE = "search/tree/";
const { flipText } = declared(["flipText"], ["components/words.js", `${TREE}budget.js`]);
const { percent, gapClass } = declared(
  ["percent", "gapClass"],
  ["components/words.js", `${TREE}messages.js`, `${TREE}tree.js`, `${TREE}table.js`],
);

// Slots of `pixels` each, the first at 10.
function axes(pixels, numSlots, mode = "slots") {
  return { mode, width: 200, xOf: (slot) => 10 + slot * pixels, visible: () => [0, numSlots] };
}

test("the span of curves holds zero, every known value and the marks", () => {
  const curve = { values: [-1, 3, 99], end: 2 };
  assert.deepEqual(spanOf([curve], [{ value: 5 }]), [-1, 5]);
  assert.deepEqual(spanOf([{ values: [0, 0], end: 2 }], []), [0, 1e-9]);
});

test("a curve has a point per move, its last one at the end of the program", () => {
  const plan = { numMoves: 3, numSlots: 4, move_time: [0, 1, 3] };
  const points = pointsOf(axes(20, 4), plan, [0, 1, 2, 3], 4, (value) => -value);
  assert.deepEqual(points, [
    [10, -0],
    [30, -1],
    [70, -2],
    [90, -3],
  ]);
});

test("where moves are narrower than a pixel the last one of each stands", () => {
  const plan = { numMoves: 4, numSlots: 4, move_time: [0, 1, 2, 3] };
  const points = pointsOf(axes(0.5, 4), plan, [0, 1, 2, 3, 4], 4, (value) => value);
  assert.deepEqual(points, [
    [10.5, 1],
    [11.5, 3],
  ]);
});

test("the lead over another plan is one curve, from the start to what is decided", () => {
  const plan = {
    numMoves: 2,
    numSlots: 2,
    tip: 1,
    move_time: [0, 1],
    move_action: [0, 2],
    move_saving: [4, 1],
    slot_spare: [Infinity, Infinity],
    slot_stall: [1, 0],
    rival: "xla",
    rival_saved: [0, 1, 2],
    estimates: [],
  };
  const [lead, ...rest] = curvesOf(plan, { curve: "lead", palette: {} });
  assert.deepEqual([[...lead.values], lead.end, rest], [[-1, 2, 1], 2, []]);
  const all = curvesOf(plan, { curve: "saved", palette: {} });
  assert.deepEqual(
    all.map(({ name, end }) => [name, end]),
    [
      ["xla", 3],
      ["this line", 2],
    ],
  );
});

test("slots narrower than a pixel share a column, which the tallest fills", () => {
  const rows = [
    [1, 5, 2, 1],
    [0, 1, 0, 4],
  ];
  const columns = columnsOf(axes(0.5, 4), rows);
  assert.deepEqual(
    columns.map(({ sums, total }) => [sums, total]),
    [
      [[5, 1], 6],
      [[1, 4], 5],
    ],
  );
  assert.equal(columnsOf(axes(20, 4), rows).length, 4);
});

test("in seconds a column's parts are shares of its time", () => {
  const [first, empty] = columnsOf(axes(20, 2, "seconds"), [
    [1, 0],
    [3, 0],
  ]);
  assert.deepEqual(
    [first.sums, empty.sums],
    [
      [0.25, 0.75],
      [0, 0],
    ],
  );
});

test("who leads since when, in words", () => {
  assert.equal(flipText({ flips: [], leads: [2, 2], last: 1 }), "Drop leads from the start");
  assert.equal(flipText({ flips: [3], leads: [0, 0, 0, 2], last: 3 }), "last flip at 3: Copy → Drop");
  const twice = { flips: [1, 3], leads: [1, 0, 0, 2], last: 3 };
  assert.equal(flipText(twice), "last flip at 3: Copy → Drop, 2 flips in all");
});

test("small shares keep a digit, and few visits no judgement", () => {
  assert.deepEqual([0.5, 0.0512, 0, null].map(percent), ["50 %", "5.1 %", "0 %", "–"]);
  assert.deepEqual(
    [
      [-1, 9],
      [1, 9],
      [0, 2],
      [-1, 1],
    ].map(([gap, visits]) => gapClass(gap, visits)),
    ["worse", "better", "better", "unsure"],
  );
});
