// What hands do to the map, with the mouse, by touch, and by held keys.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const files = ["plan", "axes", "area", "view", "commands", "film", "keys", "hands"].map((name) => `${MAP}${name}.js`);
const HEAD = "const VIEW = 'map', TABLES = {}, GLOSSARY = {};";
const { MapView } = declared(["MapView"], ["components/words.js", "components/common.js", ...files], HEAD);

// What the browser does at its next frame, as far as `at` milliseconds after the page began.
let frame = null;
globalThis.requestAnimationFrame = (todo) => {
  frame = todo;
  return 1;
};
globalThis.cancelAnimationFrame = () => {
  frame = null;
};
globalThis.document = { querySelector: () => null };
const shown = (at) => frame?.(performance.now() + at);

// A map of 100 moves, one per slot, that draws nothing.
function view() {
  const button = { setAttribute() {}, value: "10" };
  const plan = {
    numMoves: 100,
    lastMove: 99,
    move_time: Int32Array.from({ length: 100 }, (_, move) => move),
    moveAt: (slot) => slot,
    neighbour: (move, step) => move + 7 * step,
    mattering: (move, step) => move + step,
  };
  const map = Object.assign(Object.create(MapView.prototype), {
    plan,
    axes: { width: 170, plotWidth: 100, xOf: (slot) => 62 + slot, slotAt: (x) => x - 62 },
    root: { querySelector: () => button, focus() {}, isConnected: true },
    state: { move: 0, selected: -1, hover: -1 },
    area: { isOpen: false },
    told: [],
  });
  for (const name of ["reveal", "commit", "drawTopOnly", "draw"]) map[name] = () => {};
  return map;
}

test("a film goes on from move to move and is stopped by any hand that moves", () => {
  const ways = {
    "a key": (map) => map.answers("ArrowRight", false, true, ""),
    "the same tensor": (map) => map.answers("ArrowDown", false, false, ""),
    "the first move": (map) => map.act("first"),
    "the ruler, the counter or the listing": (map) => map.go(50),
  };
  for (const [way, move] of Object.entries(ways)) {
    const map = view();
    map.play();
    shown(1010);
    assert.equal(map.state.move, 10);
    move(map);
    const now = map.state.move;
    assert.notEqual(now, 10, way);
    shown(2010);
    assert.deepEqual([map.film, map.state.move], [null, now], way);
  }
});

test("the button of the film says what it does next", () => {
  const map = view(),
    labels = [],
    button = { setAttribute: (_, label) => labels.push(label), value: "10" };
  map.root.querySelector = () => button;
  map.play();
  map.play();
  assert.deepEqual([labels, button.title], [["Pause", "Play the moves"], "Play the moves (Space)"]);
});
