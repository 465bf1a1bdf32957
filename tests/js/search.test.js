// The search tree that grows again in the browser, against values backed up by hand.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

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
