// What the memory map tells Python: one command after another, the cursor when the hand rests.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const { MapView } = declared(["MapView"], [`${MAP}commands.js`], "class MapView {}\nconst REASON_MS = 7_000;");

// What Streamlit's front end says of the script.
let scriptState = "notRunning";
globalThis.document = { querySelector: () => ({ dataset: { testScriptState: scriptState } }) };

// A view without a page: what it has sent to Python, and what its root was told.
function view() {
  const attributes = new Map(),
    toast = {};
  const root = {
    setAttribute: (name, value) => attributes.set(name, value),
    removeAttribute: (name) => attributes.delete(name),
    querySelector: () => toast,
    classList: { contains: () => false },
  };
  const said = [];
  const sent = [];
  const state = { move: 3, selected: 7 };
  const made = Object.assign(new MapView(), { root, state, orders: [], plan: { id: "plan", version: 2 }, nonce: 5 });
  made.send = (name, told) => sent.push([name, told]);
  made.say = (text) => said.push(text);
  made.board = "board";
  return Object.assign(made, { sent, said, toast, attributes });
}

test("a command says where the cursor is, and the page is busy until it is answered", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = view();
  map.command("play", { action: 2 });
  const command = { action: 2, do: "play", serial: 1000, move: 3, board: "board" };
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

test("an answer that is lost is asked for after a second, and then the board is free again", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = view();
  map.command("undo");
  map.command("redo");
  mock.timers.tick(999);
  assert.deepEqual([map.sent.length, map.said], [1, []]);
  mock.timers.tick(1);
  // The same command again, by its serial number.
  assert.deepEqual(
    map.sent.map(([, { command }]) => [command.do, command.serial]),
    [
      ["undo", 1000],
      ["undo", 1000],
    ],
  );
  assert.equal(map.said.length, 1);
  mock.timers.tick(1000);
  assert.equal(map.attributes.has("aria-busy"), false);
  assert.equal(map.said.length, 2);
  map.command("ask");
  assert.equal(map.sent.at(-1)[1].command.do, "ask");
  mock.timers.reset();
});

test("nothing is given up while Python works, and that is said", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  scriptState = "running";
  const map = view();
  map.command("undo");
  for (let second = 0; second < 5; second++) mock.timers.tick(1000);
  assert.equal(map.sent.length, 1);
  assert.equal(map.said.length, 5);
  map.answered(1000);
  assert.equal(map.toast.hidden, true);
  scriptState = "notRunning";
  mock.timers.reset();
});

test("another board drops what was meant for the last one, and is played on at once", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = view();
  map.command("next");
  map.command("play", { action: 1 });
  map.enter("another");
  assert.equal(map.said.length, 1);
  map.answered(0);
  assert.equal(map.sent.length, 1);
  map.command("play", { action: 2 });
  const { action, board } = map.sent.at(-1)[1].command;
  assert.deepEqual([action, board], [2, "another"]);
  // A late answer to the last board's command says nothing about this one's.
  map.answered(1000);
  assert.equal(map.attributes.get("aria-busy"), "true");
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

test("who is in the panel by keyboard stays at the same button of the new panel, or in it", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const page = { ...globalThis.document },
    body = {};
  let changed = null;
  globalThis.MutationObserver = class {
    constructor(whenChanged) {
      changed = whenChanged;
    }
    observe() {}
    disconnect() {
      changed = null;
    }
  };
  const element = (dataset, isVisible = true) => ({
    dataset,
    isConnected: true,
    matches: () => isVisible,
    focus() {
      globalThis.document.activeElement = this;
    },
  });
  // A panel in place of the one before, whose focused button goes with it.
  const panel = (...buttons) => {
    const { activeElement } = globalThis.document;
    if (activeElement && activeElement !== body) activeElement.isConnected = false;
    const turn = Object.assign(element({}), { querySelectorAll: () => buttons });
    globalThis.document = { ...page, body, activeElement: body, querySelector: () => turn };
    changed?.();
    return turn;
  };
  const now = () => globalThis.document.activeElement;
  const undo = () => element({ do: "undo" });
  const held = undo();
  panel(held);
  held.focus();
  const map = view();
  map.command("undo");
  const [other, same] = [element({ do: "play", action: "1" }), undo()];
  panel(other, same);
  assert.equal(now(), same);
  const turn = panel(element({ do: "play", action: "2" }));
  assert.equal(now(), turn);
  // Who went elsewhere meanwhile is left there.
  const elsewhere = element({});
  turn.isConnected = false;
  elsewhere.focus();
  changed?.();
  assert.equal(now(), elsewhere);
  assert.equal(changed, null);
  // Nor is a click with the mouse remembered: Space is the map's then.
  element({ do: "undo" }, false).focus();
  map.answered(1000);
  map.command("undo");
  assert.equal(changed, null);
  globalThis.document = page;
  mock.timers.reset();
});
