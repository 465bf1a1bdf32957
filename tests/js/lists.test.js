// What the memory map lists and links: names that are found, instruction rows, lines as letters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const { matches, Finder } = declared(
  ["matches", "Finder"],
  ["components/words.js", `${MAP}finder.js`],
  "const NONE = -1; const keepInSight = () => {};",
);
const { lettersOf } = declared(["lettersOf"], [`${MAP}share.js`], "class MapView {}");

const PLAN = {
  value_names: ["weights", "sum", "other weights"],
  value_shapes: ["f32[8,4]", "f32[8]", "bf16[2]"],
  value_group: [0, 1, 2],
  move_group: [1, 0],
  group_bytes: [128, 32, 4],
  instruction_names: ["fusion.1", "weights.copy"],
  opcodes: ["fusion", "copy"],
  slot_opcode: [0, 1],
  op_names: ["encoder/dot", ""],
  numMoves: 2,
  moveAt: (slot) => slot,
};
const found = (...words) => [...matches(PLAN, words)].map(({ name }) => name);

test("names that begin with the word come first, tensors before instructions", () => {
  assert.deepEqual(found("weights"), ["weights", "weights.copy", "other weights"]);
});

test("every word must fit: name, shape, kind of operation or source", () => {
  assert.deepEqual(found("weights", "bf16"), ["other weights"]);
  assert.deepEqual(found("encoder"), ["fusion.1"]);
  assert.deepEqual(found("copy"), ["weights.copy"]);
  assert.deepEqual(found("encoder", "weights"), []);
});

test("a hit knows the tensor and the move that it leads to", () => {
  const [tensor, instruction] = [...matches(PLAN, ["weights"])];
  assert.deepEqual(tensor, { name: "weights", group: 0, move: 1, text: "tensor f32[8,4] 128 B" });
  assert.deepEqual(instruction, { name: "weights.copy", group: -1, move: 1, text: "slot 1 · copy" });
  assert.equal([...matches(PLAN, ["other"])][0].move, -1);
});

test("no more than twelve are listed", () => {
  const names = Array.from({ length: 30 }, (_, i) => `dot.${i}`);
  const many = { ...PLAN, value_names: names, value_shapes: names, value_group: names.map(() => 0) };
  assert.equal([...matches(many, ["dot"])].length, 12);
});

test("a line of actions is letters with how often each repeats", () => {
  assert.equal(lettersOf([0, 0, 0, 2, 1]), "p3dn");
  assert.equal(lettersOf([3, 4, 4]), "PN2");
  assert.equal(lettersOf([]), "");
  // An undecided move (5) is written as Drop.
  assert.equal(lettersOf([2, 5]), "d2");
});

test("the finder says which option Enter would take", () => {
  const attributes = new Map();
  const input = {
    value: "weights",
    setAttribute: (name, value) => attributes.set(name, value),
    removeAttribute: (name) => attributes.delete(name),
  };
  const list = { querySelector() {} };
  const root = { querySelector: (selector) => (selector === ".hits" ? list : input) };
  const finder = new Finder({ root, plan: PLAN, on() {} });
  const active = () => attributes.get("aria-activedescendant");
  const press = (key) => finder.key({ key, stopPropagation() {}, preventDefault() {} });
  finder.search();
  assert.equal(active(), "hit-0");
  press("ArrowDown");
  assert.equal(active(), "hit-1");
  assert.match(list.innerHTML, /id="hit-1" data-hit="1" aria-selected="true"/);
  finder.close();
  assert.equal(active(), undefined);
  input.value = "nowhere";
  finder.search();
  assert.equal(active(), undefined);
  assert.match(list.innerHTML, /^<li role="option" aria-disabled="true">/);
});
