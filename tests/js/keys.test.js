// A key that two views have means the same in both; arrows walk through what a view shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const MAP = declared(["HELP", "KEYS", "ACTION_KEYS", "MapView"], ["components/memory_map/keys.js"], "class MapView {}");
const SEARCH = declared(["HELP"], ["search/tree/keys.js"]);
const WALKING = ["←", "→", "↑", "↓", "Esc", "Space"];

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
  const map = Object.assign(new MAP.MapView(), { plan: {}, root, answers: (key) => done.push(key) });
  const press = (key, ...path) =>
    map.key({ key, composedPath: () => path, preventDefault() {}, stopImmediatePropagation() {} });
  press("ArrowDown", {});
  map.tour = {};
  press("ArrowDown", {});
  press("j", {});
  press("ArrowRight", {}, root);
  assert.deepEqual(done, ["ArrowDown", "ArrowRight"]);
});
