// An area of the map: what lies in it and what that sums up to.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const NAMES = [
  "PlanData",
  "AreaPane",
  "rowsIn",
  "sumOf",
  "partsOf",
  "timeIn",
  "csvOf",
  "areaWithin",
  "areaOfText",
  "areaText",
];
const found = declared(
  NAMES,
  ["components/words.js", `${MAP}plan.js`, `${MAP}area.js`],
  "const TABLES = {}, GLOSSARY = {};",
);
const { PlanData, AreaPane, rowsIn, sumOf, partsOf, timeIn, csvOf, areaWithin, areaOfText, areaText } = found;

// Ten slots, sixteen granules of 1 KiB. Tensor a stays twice, b once, c from the run before.
function plan() {
  return new PlanData(
    {
      granule: 1024,
      fast_granules: 16,
      value_names: ["a", 'b, "the second"', "c"],
      value_shapes: ["f32[1]", "f32[2]", "f32[3]"],
      layers: ["one", "two"],
      paths: ["one / x", "two", ""],
    },
    {
      slot_fast: new Float64Array(10).fill(1e-6),
      slot_slow: Float64Array.of(0, 0, 0, 0, 2e-6, 0, 0, 0, 0, 0),
      slot_stall: Float64Array.of(0, 0, 0, 0, 0, 3e-6, 0, 0, 0, 0),
      slot_spare: new Float64Array(10).fill(Infinity),
      group_value: Uint32Array.of(0, 1, 2),
      group_bytes: Float64Array.of(4096, 2048, 1024),
      group_granules: Uint32Array.of(4, 2, 1),
      group_kind: Uint8Array.of(0, 1, 2),
      group_layer: Int32Array.of(0, 1, 1),
      group_path: Int32Array.of(0, 1, 2),
      move_time: Int32Array.of(0, 2, 4, 5, 7),
      move_group: Int32Array.of(0, 0, 1, 1, 0),
      move_action: Uint8Array.of(1, 1, 0, 2, 1),
      move_flags: Uint8Array.of(2, 1, 1, 1, 1),
      move_saving: Float64Array.of(1e-6, 2e-6, 4e-6, 8e-6, 16e-6),
      stay_group: Int32Array.of(0, 1, 0, 2),
      stay_offset: Int32Array.of(0, 4, 8, 15),
      stay_start: Int32Array.of(0, 3, 6, -1),
      stay_end: Int32Array.of(4, 6, 9, 2),
    },
  );
}

test("what reaches into an area is in it, with what it saves there", () => {
  const rows = rowsIn(plan(), { start: 2, end: 6, low: 0, high: 8 });
  assert.deepEqual(
    rows.map(({ name, uses, saved, covers, layer, path }) => [name, uses, saved, covers, layer, path]),
    [
      ["a", 1, 2e-6, 8, "one", "one / x"],
      // The use in slot 5 is served from slow memory.
      ['b, "the second"', 1, 4e-6, 6, "two", "two"],
    ],
  );
});

test("uses of one instruction with a floor save together what it leaves, as on the curve", () => {
  const floored = plan();
  floored.move_time = Int32Array.of(0, 2, 3, 3, 7);
  floored.move_action = Uint8Array.of(1, 1, 0, 0, 1);
  floored.move_group = Int32Array.of(0, 0, 0, 1, 0);
  floored.slot_spare[3] = 5e-6;
  const rows = rowsIn(floored, { start: 3, end: 4, low: 0, high: 16 });
  assert.deepEqual(
    rows.map((row) => [row.group, row.uses]),
    [
      [0, 1],
      [1, 1],
    ],
  );
  assert.ok(Math.abs(sumOf(rows).saved - 5e-6) < 1e-12);
});

test("a border that only touches an area does not lie in it", () => {
  const names = (area) => rowsIn(plan(), area).map((row) => row.name);
  assert.deepEqual(names({ start: 4, end: 6, low: 0, high: 4 }), []);
  assert.deepEqual(names({ start: 0, end: 2, low: 4, high: 16 }), ["c"]);
  assert.deepEqual(names({ start: 0, end: 3, low: 4, high: 15 }), []);
});

test("sums count a tensor once however often it stays", () => {
  const rows = rowsIn(plan(), { start: 0, end: 10, low: 0, high: 16 });
  const sum = sumOf(rows);
  assert.deepEqual([sum.stays, sum.tensors, sum.bytes, sum.uses], [4, 3, 7168, 4]);
  assert.ok(Math.abs(sum.saved - 23e-6) < 1e-12);
});

test("parts add up to the whole, the one that saves most first", () => {
  const rows = rowsIn(plan(), { start: 0, end: 10, low: 0, high: 16 });
  for (const by of ["kind", "layer", "part", "tensor", "stay"]) {
    const parts = partsOf(rows, by);
    const total = parts.reduce((sum, part) => sum + part.saved, 0);
    assert.ok(Math.abs(total - sumOf(rows).saved) < 1e-12, by);
    assert.equal(
      parts.reduce((sum, part) => sum + part.stays, 0),
      4,
    );
    for (let n = 1; n < parts.length; n++) assert.ok(parts[n - 1].saved >= parts[n].saved);
  }
  assert.deepEqual(
    partsOf(rows, "layer").map((part) => [part.rows[0].layer, part.bytes]),
    [
      ["one", 4096],
      ["two", 3072],
    ],
  );
});

test("the time of the slots is told with its losses", () => {
  const time = timeIn(plan(), { start: 4, end: 6, low: 0, high: 1 });
  assert.ok(Math.abs(time.total - 7e-6) < 1e-12);
  assert.deepEqual([time.slow, time.stall], [2e-6, 3e-6]);
});

test("CSV has a line per stay, and quotes what needs it", () => {
  const lines = csvOf(rowsIn(plan(), { start: 2, end: 6, low: 0, high: 8 })).split("\n");
  assert.equal(lines.length, 4);
  assert.equal(lines[0].split(",")[0], "tensor");
  assert.ok(lines[2].startsWith('"b, ""the second""",f32[2],temporary,two,2048,4096,3,6,1,'));
});

test("an area lies inside the plan, whatever is asked for", () => {
  assert.deepEqual(areaWithin(plan(), 7.5, 3, 40, -3), { start: 3, end: 8, low: 0, high: 16 });
  assert.deepEqual(areaWithin(plan(), 99, 99, 2, 2), { start: 9, end: 10, low: 2, high: 3 });
  const area = areaWithin(plan(), 2, 6, 0, 8);
  assert.deepEqual(areaOfText(plan(), areaText(area)), area);
  for (const bad of ["", undefined, "1_2_3", "a_b_c_d", "1_2_3_NaN"]) assert.equal(areaOfText(plan(), bad), null);
});

// A pane on a page without elements: what was listened for, by event.
function pane() {
  const heard = {};
  const element = () => ({
    dataset: {},
    setAttribute() {},
    querySelectorAll: () => [],
    querySelector: element,
    classList: { add() {}, remove() {} },
    focus() {},
  });
  const root = {
    ...element(),
    hidden: true,
    querySelectorAll: (of) => (of === "input" ? [1, 2, 3, 4].map(element) : []),
  };
  const map = { root: { ...element(), querySelector: () => root }, plan: plan(), state: { selected: -1 } };
  Object.assign(map, { press() {}, draw() {}, say() {}, on: (_, event, hear) => (heard[event] = hear) });
  return { made: new AreaPane(map), heard, map };
}

test("keys work in the pane after it has shown an area", () => {
  const { made, heard, map } = pane();
  const pressed = (key, isInput) => {
    const event = { key, isStopped: false, target: { matches: () => isInput } };
    event.stopPropagation = () => (event.isStopped = true);
    heard.keydown(event);
    return event.isStopped;
  };
  made.open({ start: 2, end: 6, low: 0, high: 8 });
  assert.equal(made.rows.length, 2);
  assert.equal(pressed("x", false), false, "a key of the map");
  made.inputs[1].value = "4";
  assert.equal(pressed("Enter", true), true);
  assert.equal(map.state.area.end, 4);
  assert.equal(pressed("Escape", false), true);
  assert.equal(made.isOpen, false);
});
