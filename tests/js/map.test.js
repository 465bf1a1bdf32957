// The memory map's plan, axes and colours, as far as nothing is drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const TABLES = { stays: ["stay_group", "stay_offset", "stay_start", "stay_end"].map((name) => [name, 1]) };
const { PlanData } = declared(["PlanData"], [`${MAP}plan.js`], `const TABLES = ${JSON.stringify(TABLES)};`);
const { ticksOf, kept } = declared(["ticksOf", "kept"], [`${MAP}axes.js`]);
const colours = declared(["heatOf", "rangeOf", "logShare", "HEAT"], [`${MAP}colours.js`]);
const WORDS = "components/words.js";
const { Listing } = declared(["Listing"], [WORDS, `${MAP}listing.js`], "const NONE = -1, UNDECIDED = 5;");
const { savedBefore } = declared(["savedBefore"], [WORDS, `${MAP}plan.js`, `${MAP}curve.js`], "const TABLES = {};");
const { taken } = declared(
  ["taken"],
  [WORDS, "components/palette.js", `${MAP}colours.js`, `${MAP}share.js`],
  `class MapView {}
  const CURVES = ["total", "lead"];
  const areaOfText = () => null;
  function taken(look) {
    const axes = { fit() {}, clamp() {} };
    const map = Object.assign(new MapView(), { colour: "kind", curve: "total", axes });
    map.takeLook(look);
    return map;
  }`,
);
const { actionOf } = declared(["actionOf"], [`${MAP}keys.js`], "class MapView {}");

// Two groups of 4 and 2 granules: the first stays in slots 0 to 2, the second in slot 2.
function plan() {
  const columns = {
    slot_fast: Float64Array.of(1, 1, 1),
    slot_slow: Float64Array.of(0, 2, 0),
    slot_stall: Float64Array.of(0, 0, 3),
    slot_spare: new Float64Array(3).fill(Infinity),
    slot_reserved: Uint32Array.of(1, 1, 1),
    slot_begin: Float64Array.of(0, 1, 4, 8),
    slot_used: Uint32Array.of(5, 5, 7),
    group_granules: Uint32Array.of(4, 2),
    move_time: Int32Array.of(0, 1, 2, 2),
    move_group: Int32Array.of(0, 1, 0, 1),
    move_action: Uint8Array.of(1, 2, 1, 0),
    move_saving: Float64Array.of(5, 6, 7, 8),
    move_worth: Float64Array.of(5, 6, 7, 8),
    stay_group: Int32Array.of(0, 1),
    stay_offset: Int32Array.of(1, 5),
    stay_start: Int32Array.of(0, 2),
    stay_end: Int32Array.of(3, 3),
  };
  return new PlanData({ program: "teach" }, columns);
}

test("a place and a time name a stay", () => {
  const found = [
    [0, 0],
    [0, 1],
    [0, 4],
    [0, 5],
    [2, 6],
    [2, 7],
  ];
  assert.deepEqual(
    found.map(([time, granule]) => plan().stayAt(time, granule)),
    [-1, 0, 0, -1, 1, -1],
  );
  assert.deepEqual(
    [0, 1, 2, 3].map((move) => plan().stayOf(move)),
    [0, -1, 0, 1],
  );
});

test("slots and groups name moves", () => {
  assert.deepEqual(
    [0, 1, 2, 9].map((slot) => plan().moveAt(slot)),
    [0, 1, 2, 3],
  );
  assert.deepEqual([plan().moveOf(2, 1), plan().moveOf(1, 0)], [3, -1]);
  assert.deepEqual([plan().neighbour(0, 1), plan().neighbour(3, -1), plan().neighbour(3, 1)], [2, 1, 3]);
});

test("the next move that matters skips those with little at stake", () => {
  const some = plan();
  some.move_worth = Float64Array.of(5, 0, 0.001, 8);
  assert.deepEqual(
    [some.mattering(0, 1), some.mattering(3, 1), some.mattering(3, -1), some.mattering(0, -1)],
    [3, 3, 0, 0],
  );
  some.least = undefined;
  some.move_worth = new Float64Array(4);
  assert.equal(some.mattering(1, 1), 1, "nothing is at stake anywhere");
});

test("the listing marks a use that may save much more than a compile has shown", () => {
  const whole = plan();
  Object.assign(whole, {
    move_more: Float64Array.of(0, 0.02, 0.03, 0),
    value_names: ["a", "b"],
    value_shapes: ["", ""],
    group_bytes: [4, 2],
  });
  const listing = { map: { plan: whole, state: { selected: -1 } } };
  const chip = (slot, group) => Listing.prototype.chip.call(listing, slot, group, group);
  const marks = [chip(0, 0), chip(1, 1), chip(2, 0)].map((html) => html.includes("<sup>?</sup>"));
  assert.deepEqual(marks, [false, false, true], "a thousandth of all that is at stake is 0.026");
  assert.match(chip(1, 1), /; saves 6.00 s, not observed: up to 6.02 s"/);
  assert.doesNotMatch(chip(0, 0), /observed/);
  assert.doesNotMatch(chip(1, 0), /observed/, "no move is about it");
});

test("a draft changes its rows and leaves the plan that it is about", () => {
  const whole = plan();
  const draft = { number: 1, on: 0, tip: 3, slots: [[1, 1e12, 0]], actions: [[0, 2]], stays: [[1], [[1, 1, 1, 2]]] };
  const changed = whole.withDraft(draft);
  assert.deepEqual([...changed.stay_start], [0, 1]);
  assert.deepEqual([...changed.slot_used], [5, 7, 5]);
  assert.deepEqual([...changed.slot_begin], [0, 1, 3, 7]);
  assert.deepEqual([...changed.move_action], [2, 2, 1, 5]);
  assert.equal(changed.lastMove, 3);
  assert.deepEqual([...whole.stay_start, ...whole.move_action], [0, 2, 1, 2, 1, 0]);
  assert.equal(whole.withDraft(draft), changed);
  assert.equal(whole.withDraft({ ...draft, number: 9, on: 8 }), whole);
});

test("a draft of tensors that 32 bits cannot count fills fast memory as far as they do", () => {
  const whole = plan();
  whole.group_granules = Float64Array.of(2 ** 40, 2 ** 33);
  whole.stay_offset = Float64Array.of(1, 2 ** 40 + 1);
  const stays = [[1], [[1, 2 ** 40 + 1, 1, 2]]];
  const changed = whole.withDraft({ number: 1, on: 0, tip: 3, slots: [], actions: [], stays });
  assert.deepEqual([...changed.slot_used], [2 ** 40 + 1, 2 ** 40 + 2 ** 33 + 1, 2 ** 40 + 1]);
  assert.equal(changed.stayAt(1, 2 ** 40 + 2 ** 32), 1);
});

test("the curve says what is saved before each move, stalls taken off", () => {
  assert.deepEqual([...savedBefore(plan())], [0, 5, 2, 9, 14 - 3 + 6 - 2 + 2]);
});

test("the curve saves no more at an instruction than its floor leaves", () => {
  const saved = (spare, ...savings) => {
    const floored = plan();
    floored.move_saving = Float64Array.of(0, 0, ...savings);
    floored.slot_spare[2] = spare;
    floored.slot_stall.fill(0);
    return [...savedBefore(floored)];
  };
  assert.deepEqual(saved(5, 4, 4), [0, 0, 0, 4, 5]);
  // What is slower in fast memory loses only what goes beyond the floor, and leaves more to save.
  assert.deepEqual(saved(-1, -3, 9), [0, 0, 0, -2, 0]);
});

test("at the other end a use is as fast, and nothing undecided is", () => {
  const other = plan();
  other.move_action = Uint8Array.of(4, 2, 1, 3);
  assert.deepEqual([...savedBefore(other)], [...savedBefore(plan())]);
  const undecided = plan();
  undecided.move_action = Uint8Array.of(4, 2, 5, 5);
  assert.deepEqual([...savedBefore(undecided)], [0, 5, 2, 2, 5 - 3]);
});

test("Shift goes to the other end, whatever sign it makes of a digit", () => {
  const pressed = (key, isShift = false, code = "") => actionOf(key, isShift, code);
  assert.deepEqual(
    ["1", "c", "2", "n", "3", "d"].map((key) => pressed(key)),
    [0, 0, 1, 1, 2, 2],
  );
  assert.deepEqual([pressed("C", true, "KeyC"), pressed("N", true, "KeyN")], [3, 4]);
  assert.deepEqual([pressed("!", true, "Digit1"), pressed("@", true, "Digit2")], [3, 4]);
  // A keyboard that types digits with Shift, and one with Caps Lock on.
  assert.deepEqual([pressed("1", true, "Digit1"), pressed("&", false, "Digit1")], [0, undefined]);
  assert.deepEqual([pressed("C"), pressed("c", true)], [0, 3]);
  assert.deepEqual([pressed("D", true, "KeyD"), pressed("#", true, "Digit3")], [undefined, undefined]);
});

test("of a look is taken what means something", () => {
  assert.equal(taken({ colour: "age" }).colour, "age");
  for (const colour of ["constructor", "toString", "pink", undefined]) assert.equal(taken({ colour }).colour, "kind");
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticksOf(0, 10, 5, 10), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticksOf(3, 47, 5, 10), [10, 20, 30, 40]);
  assert.deepEqual(ticksOf(0, 100, 4, 2), [0, 32, 64, 96]);
});

test("a window keeps its least size and its limits", () => {
  assert.deepEqual(kept(2, 4, 0, 10, 1), [2, 4]);
  assert.deepEqual(kept(-3, 1, 0, 10, 1), [0, 4]);
  assert.deepEqual(kept(9, 13, 0, 10, 1), [6, 10]);
  assert.deepEqual(kept(5, 5, 0, 10, 2), [4, 6]);
  assert.deepEqual(kept(-50, 50, 0, 10, 2), [0, 10]);
});

test("colours span what some move is about", () => {
  const { HEAT, heatOf, rangeOf, logShare } = colours;
  assert.deepEqual([-1, 0, 0.999, 2].map(heatOf), [HEAT[0], HEAT[0], HEAT.at(-1), HEAT.at(-1)]);
  const sizes = [8, 0, 2, 1];
  assert.deepEqual(
    rangeOf({ move_group: [0, 1, 2] }, (group) => sizes[group]),
    [2, 8],
  );
  assert.deepEqual(
    rangeOf({ move_group: [] }, () => 1),
    [1, 1],
  );
  assert.deepEqual(
    [1, 2, 4, 8].map((value) => logShare(value, 2, 8)),
    [0, 0, 0.5, 1],
  );
});
