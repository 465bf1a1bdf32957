// What the memory map tells Python: one command after another, the cursor when the hand rests.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const { MapView } = declared(["MapView"], [`${MAP}commands.js`], "class MapView {}");

// A view without a page: what it has sent to Python, and what its root was told.
function view() {
  const attributes = new Map();
  const root = {
    setAttribute: (name, value) => attributes.set(name, value),
    removeAttribute: (name) => attributes.delete(name),
  };
  const sent = [];
  const state = { move: 3, selected: 7 };
  const made = Object.assign(new MapView(), { root, state, orders: [], plan: { id: "plan", version: 2 }, nonce: 5 });
  made.send = (name, told) => sent.push([name, told]);
  return Object.assign(made, { sent, attributes });
}

test("a command says where the cursor is, and the page is busy until it is answered", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = view();
  map.command("play", { action: 2 });
  const command = { action: 2, do: "play", serial: 1000, move: 3 };
  assert.deepEqual(map.sent, [["cursor", { plan: "plan", held: 2, move: 3, selected: 7, nonce: 5, command }]]);
  assert.equal(map.attributes.get("aria-busy"), "true");
  map.answered(999);
  assert.equal(map.attributes.get("aria-busy"), "true");
  map.answered(1000);
  assert.equal(map.attributes.has("aria-busy"), false);
  mock.timers.reset();
});

test("commands wait for the answer to the one before, and keep their order", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = view();
  for (const action of [0, 1, 2]) map.command("play", { action });
  const told = () => map.sent.map(([, { command }]) => [command.action, command.serial]);
  assert.deepEqual(told(), [[0, 1000]]);
  map.answered(1000);
  // The clock stands still, yet no two commands have one number.
  assert.deepEqual(told().at(-1), [1, 1001]);
  map.answered(1001);
  assert.deepEqual(told().at(-1), [2, 1002]);
  mock.timers.reset();
});

test("a command that Python never answers does not hold up the next for ever", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = view();
  map.command("undo");
  map.command("redo");
  mock.timers.tick(14_999);
  assert.equal(map.sent.length, 1);
  mock.timers.tick(1);
  assert.equal(map.sent.at(-1)[1].command.do, "redo");
  mock.timers.reset();
});

test("the cursor is told when the hand rests, once", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const map = view();
  for (const move of [4, 5, 6]) {
    map.state.move = move;
    map.commit();
    mock.timers.tick(100);
  }
  assert.equal(map.sent.length, 0);
  mock.timers.tick(40);
  assert.deepEqual(
    map.sent.map(([, told]) => told.move),
    [6],
  );
  map.tour = {};
  map.tell();
  map.command("undo");
  assert.equal(map.sent.length, 1);
  mock.timers.reset();
});
