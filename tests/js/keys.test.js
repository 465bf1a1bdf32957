// A key that two views have means the same in both; arrows walk through what a view shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = declared(
  ["HELP", "KEYS", "ACTION_KEYS", "MapView"],
  ["components/common.js", "components/memory_map/keys.js"],
  "class MapView {}",
);
const SEARCH = declared(["HELP", "listenToKeys"], ["components/common.js", "search/tree/keys.js"]);
const { View } = declared(["View"], ["components/common.js"]);
globalThis.document = { querySelector: () => null };
const WALKING = ["←", "→", "↑", "↓", "Esc", "Space"];

// What every press of a key has.
const PRESS = { getModifierState: () => false, preventDefault() {}, stopImmediatePropagation() {} };

function meanings(help) {
  return new Map(help.flatMap(([keys, text]) => keys.split(" ").map((key) => [key, text])));
}

test("letters and signs mean the same on the map and in the search", () => {
  const [map, search] = [meanings(MAP.HELP), meanings(SEARCH.HELP)];
  const shared = [...map.keys()].filter((key) => search.has(key) && !WALKING.includes(key));
  assert.deepEqual(
    shared.filter((key) => map.get(key).replace(/^zoom .*/, "") !== search.get(key).replace(/^zoom .*/, "")),
    [],
  );
  assert.ok(shared.length >= 6, `only ${shared}`);
});

test("the help lists every letter that the map answers", () => {
  const told = meanings(MAP.HELP);
  const letters = Object.keys({ ...MAP.KEYS, ...MAP.ACTION_KEYS }).filter((key) => /^[a-z0-9/?,.]$/.test(key));
  assert.deepEqual(
    letters.filter((key) => !told.has(key)),
    [],
  );
});

test("keys outside of a map that is but a film are the page's", () => {
  globalThis.Element = class {};
  const root = { isConnected: true },
    done = [];
  const map = Object.assign(new MAP.MapView(), {
    plan: {},
    root,
    answersHelp: () => false,
    answers: (key) => done.push(key),
  });
  const press = (key, ...path) => map.key({ ...PRESS, key, composedPath: () => path });
  press("ArrowDown", {});
  map.tour = {};
  press("ArrowDown", {});
  press("j", {});
  press("ArrowRight", {}, root);
  assert.deepEqual(done, ["ArrowDown", "ArrowRight"]);
});

// A key pressed on `target`, and what has become of it.
function pressed(map, key, target) {
  const seen = { isHeld: false, isStopped: false };
  map.key({
    ...PRESS,
    key,
    composedPath: () => [target],
    preventDefault: () => Object.assign(seen, { isHeld: true }),
    stopImmediatePropagation: () => Object.assign(seen, { isStopped: true }),
  });
  return seen;
}

test("while the list of keys is open, nothing behind it answers", () => {
  globalThis.Element = class {};
  const done = [],
    button = { focus: () => done.push("focus") },
    box = { hidden: false, querySelector: () => button },
    root = { isConnected: true, querySelector: () => box };
  const map = Object.assign(new MAP.MapView(), {
    plan: {},
    root,
    help: () => done.push("closed"),
    answers: (key) => done.push(key),
  });
  map.answersHelp = View.prototype.answersHelp;
  for (const key of ["1", "n", "g", "ArrowRight"]) assert.ok(pressed(map, key, {}).isStopped);
  assert.deepEqual(done, []);
  for (const key of ["Tab", "Escape", "?"]) assert.ok(pressed(map, key, {}).isHeld);
  assert.deepEqual(done, ["focus", "closed", "closed"]);
  assert.ok(!pressed(map, "Enter", {}).isHeld, "it presses the button");
  box.hidden = true;
  pressed(map, "n", {});
  assert.deepEqual(done.slice(3), ["n"]);
});

// A map that keeps which keys it answers.
function listener() {
  const done = [],
    root = { isConnected: true, querySelector: () => ({ hidden: true }) },
    heard = { plan: {}, root, answersHelp: () => false, answers: (key) => done.push(key) };
  return { done, map: Object.assign(new MAP.MapView(), heard) };
}

test("menus, dialogs and what is open over the page have the keyboard to themselves", () => {
  globalThis.Element = class {
    constructor(names) {
      this.names = names;
    }
    closest(selector) {
      return this.names && selector.includes(this.names) ? this : null;
    }
  };
  const { map, done } = listener();
  for (const place of ['[role^="menu"]', '[role="dialog"]'])
    for (const key of ["ArrowDown", "End", "Escape", "1"]) assert.ok(!pressed(map, key, new Element(place)).isHeld);
  let isOpen = true;
  globalThis.document = { querySelector: (selector) => (isOpen && selector.includes("aria-expanded") ? {} : null) };
  for (const key of ["Escape", "1"]) assert.ok(!pressed(map, key, new Element()).isHeld);
  assert.deepEqual(done, []);
  isOpen = false;
  pressed(map, "1", new Element());
  assert.deepEqual(done, ["1"]);
});

test("a pane that the keyboard is in scrolls by its own keys", () => {
  globalThis.Element = class {
    constructor(...names) {
      this.names = names;
    }
    closest(selector) {
      return this.names.includes(selector) ? this : null;
    }
  };
  const { map, done } = listener();
  const pane = new Element(".scroll:focus-visible");
  for (const key of ["ArrowDown", "ArrowUp", "Home", "End", " ", "PageDown"])
    assert.ok(!pressed(map, key, pane).isHeld);
  assert.deepEqual(done, []);
  for (const key of ["ArrowRight", "j"]) pressed(map, key, pane);
  pressed(map, "ArrowDown", new Element());
  assert.deepEqual(done, ["ArrowRight", "j", "ArrowDown"]);
});

// Search's keys without a page, and what they did.
function search() {
  const done = [],
    pane = { count: 5, tree: { last: 20 }, setCount: (count) => done.push(count) };
  const list = {},
    view = { root: {}, list, board: {}, pane, answersHelp: () => false };
  view.surprise = (by) => done.push(`surprise ${by}`);
  view.step = (by) => done.push(`step ${by}`);
  pane.walk = (where) => done.push(where);
  view.playFilm = () => done.push("film");
  let hear;
  view.on = (_root, _name, handler) => (hear = handler);
  SEARCH.listenToKeys(view);
  const press = (key, more = {}, isCapsOn = false) => {
    const event = { key, target: { tagName: "SECTION" }, getModifierState: () => isCapsOn, ...more };
    hear({ ...event, preventDefault() {}, stopPropagation() {} });
  };
  return { done, press, list };
}

test("brackets work where a layout has them on another level of its keys", () => {
  const { done, press } = search();
  press("[", { ctrlKey: true, altKey: true });
  press("}", { altKey: true });
  for (const more of [{ ctrlKey: true }, { metaKey: true }]) press("[", more);
  for (const more of [{ altKey: true }, { ctrlKey: true, altKey: true }]) press("m", more);
  assert.deepEqual(done, [4, 7]);
});

test("letters mean the same on the map with Caps Lock", () => {
  globalThis.Element = class {};
  const done = [],
    map = Object.assign(new MAP.MapView(), { plan: {}, root: { isConnected: true }, answersHelp: () => false });
  map.act = (what) => done.push(what);
  const letter = Object.keys(MAP.KEYS).find((key) => /^[a-z]$/.test(key));
  const press = (key, more) => map.key({ ...PRESS, key, composedPath: () => [{}], ...more });
  press(letter, {});
  press(letter.toUpperCase(), { getModifierState: () => true });
  assert.deepEqual(done, [MAP.KEYS[letter], MAP.KEYS[letter]]);
});

test("letters mean the same in the search with Caps Lock", () => {
  const { done, press } = search();
  press("M", {}, true);
  press("S", {}, true);
  press("s", { shiftKey: true }, true);
  press("S", { shiftKey: true });
  assert.deepEqual(done, ["film", "surprise 1", "surprise -1", "surprise -1"]);
});

test("on the list of the line arrows go through its moves", () => {
  const { done, press, list } = search();
  list.tagName = "OL";
  for (const key of ["ArrowDown", "ArrowUp", "m"]) press(key, { target: list });
  press("ArrowDown");
  assert.deepEqual(done, ["step 1", "step -1", "film", "down"]);
});
