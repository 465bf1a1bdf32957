// The legend has what the board has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const NAMES = ["partsOfPlan", "partsOfGhosts", "legendOf", "ghostLegend", "COLOURINGS", "termHtml"];
const found = declared(
  NAMES,
  ["components/words.js", "components/palette.js", `${MAP}colours.js`],
  'const GLOSSARY = { prior: "what the network expects" };',
);
const palette = { kinds: ["blue", "green", "orange", "violet"], green: "#008000", gray: "#808080" };

const BARE = {
  numStays: 0,
  regions: [],
  copy_offset: Int32Array.of(-1),
  copy_prefetch: Uint8Array.of(1),
  slot_reserved: Uint32Array.of(0, 0),
  slot_slow: Float64Array.of(0, 0),
  slot_stall: Float64Array.of(0, 1e-12),
};

// What the legend says of a board that shows these parts.
function told(plan, ghosts) {
  const parts = new Set([...found.partsOfPlan(plan), ...found.partsOfGhosts(ghosts)]);
  const look = { palette, colouring: found.COLOURINGS.kind(plan, palette) };
  return [...found.legendOf(look, plan), ...found.ghostLegend(look, false)]
    .filter(([, , , part]) => !part || parts.has(part))
    .map(([, text]) => text);
}

test("a term of the glossary is explained, and no other word is taken for one", () => {
  assert.match(found.termHtml("Prior"), /aria-description="what the network expects"/);
  for (const layer of ["constructor", "toString", "__proto__"]) assert.equal(found.termHtml(layer), layer);
});

test("an empty board needs no legend", () => {
  assert.deepEqual(told(BARE, []), []);
});

test("each thing on the board has its entry, and nothing else", () => {
  const board = {
    ...BARE,
    numStays: 2,
    stay_group: Int32Array.of(0, 1),
    stay_start: Int32Array.of(2, -1),
    group_kind: Uint8Array.of(1, 0),
    copy_offset: Int32Array.of(-1, 4, 4),
    copy_prefetch: Uint8Array.of(1, 1, 0),
    regions: [[0, 1, 2]],
  };
  const copies = ["prefetch under way", "write-back under way"];
  assert.deepEqual(told(board, []), ["temporary", "cross-program", ...copies, "loop, branch"]);
  const slow = { ...BARE, slot_slow: Float64Array.of(0, 1e-6) };
  assert.deepEqual(told(slow, [{ other: false }]), ["slow memory", "legal action"]);
  const stalls = { ...BARE, slot_stall: Float64Array.of(1e-6), slot_reserved: Uint32Array.of(3) };
  assert.deepEqual(told(stalls, [{ other: true }]), ["scratch", "stall", "other end"]);
});
