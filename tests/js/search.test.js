// The search tree that grows again in the browser, against values backed up by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";
import { surface } from "./surface.js";

const { Tree } = declared(["Tree"], ["components/words.js", "search/tree/messages.js", "search/tree/tree.js"]);

// Root, its children 1 (Copy) and 2 (Drop), and 3 below 1. Two moves are left: 3 ends the game.
function tree(length = 2, played = []) {
  const columns = {
    parent: Int32Array.of(-1, 0, 0, 1),
    action: Int8Array.of(-1, 0, 2, 1),
    reward: Float64Array.of(0, 1, 2, 4),
    raw: Float64Array.of(10, 20, 30, 40),
    prior: Float64Array.of(1, 0.5, 0.5, 1),
    state: Uint8Array.of(0, 1, 1, 1),
  };
  const root = { policies: { prior: [0.5, 0, 0.5] }, legal: [true, false, true], point_s: 1, par: 0 };
  return new Tree(root, columns, 0, length, played);
}

test("nodes know their depth, their children and what they gained", () => {
  const { depth, children, gained, deepest } = tree();
  assert.deepEqual([[...depth], [...gained], deepest], [[0, 1, 1, 2], [0, 1, 2, 5], 2]);
  assert.deepEqual(children, [[1, 2], [3], [], []]);
});

test("values are backed up as mctx does", () => {
  const { visits, value } = tree(3).grow(3);
  assert.deepEqual([...visits], [4, 2, 1, 1]);
  assert.deepEqual([...value], [(10 + 21 + 32 + 45) / 4, (20 + 44) / 2, 30, 40]);
});

test("behind the end of the game nothing is to come", () => {
  assert.deepEqual([...tree(2).grow(3).value].slice(0, 2), [(10 + 21 + 32 + 5) / 4, (20 + 4) / 2]);
});

test("the tree ends where the game ends, and what was grown behind it still counts", () => {
  const short = tree(1);
  assert.deepEqual(short.children, [[1, 2], [], [], []]);
  assert.equal(short.deepest, 1);
  assert.deepEqual(
    [0, 1, 2, 3].map((node) => short.isBehind(node)),
    [false, false, false, true],
  );
  assert.deepEqual([...short.grow(3).visits], [4, 2, 1, 1]);
  assert.deepEqual(short.grow(3).line(0), [1]);
});

test("what the game played is known along its line only", () => {
  const { isPlayed } = tree(2, [0, 1]);
  assert.deepEqual([...isPlayed], [1, 1, 0, 1]);
  assert.deepEqual([...tree(2, [2, 1]).isPlayed], [1, 0, 1, 0]);
});

test("a smaller budget is a beginning of a larger one", () => {
  assert.deepEqual([...tree(3).grow(1).visits], [2, 1, 0, 0]);
});

const VIEW = ["Pane", "Icicle"];
const FILES = ["words", "common"].map((name) => `components/${name}.js`);
const PARTS = ["messages", "paint", "tree", "icicle", "pane"].map((name) => `search/tree/${name}.js`);
const { Pane, Icicle } = declared(VIEW, [...FILES, ...PARTS]);

// A pane without a page, and what came of the pointers on its tree.
function touched() {
  const done = [],
    { canvas, send } = surface();
  const icicle = { canvas, rowHeight: 10, pick: (x) => x, pan: (dx) => done.push(`pan ${dx}`) };
  const made = Object.assign(Object.create(Pane.prototype), { icicle, view: { draw() {} }, card: {} });
  Object.assign(made, { point() {}, select: (node) => done.push(`select ${node}`) });
  made.listenToTree(canvas);
  return { done, send };
}

test("on the tree, too, only the main button of one pointer clicks and pulls", () => {
  const { done, send } = touched();
  send("pointerdown", 5);
  send("pointerup", 5);
  send("pointerdown", 6, { button: 2 });
  send("pointerup", 6, { button: 2 });
  send("pointerdown", 7);
  send("pointercancel", 7);
  send("pointerdown", 8);
  send("pointerdown", 80, { pointerId: 2 });
  send("pointermove", 18);
  send("pointerup", 80, { pointerId: 2 });
  send("pointerup", 18);
  assert.deepEqual(done, ["select 5", "pan -10"]);
});

test("the tree is whole unless it is zoomed or scrolled", () => {
  const icicle = new Icicle({});
  const long = tree(9);
  for (let node = 1; node < long.size; node++) long.depth[node] = node;
  icicle.load(long, {});
  icicle.place(long.whole);
  [icicle.width, icicle.height] = [200, 30];
  assert.ok(icicle.rows <= long.deepest);
  assert.ok(icicle.isWhole);
  icicle.pan(0, 1);
  assert.equal(icicle.isWhole, false);
  icicle.pan(0, -1);
  assert.ok(icicle.isWhole);
  icicle.reveal(3);
  assert.equal(icicle.isWhole, false);
  icicle.zoomTo(0);
  assert.ok(icicle.isWhole);
  icicle.zoom(0.5, 50);
  assert.equal(icicle.isWhole, false);
  icicle.zoom(2, 50);
  assert.ok(icicle.isWhole);
});
