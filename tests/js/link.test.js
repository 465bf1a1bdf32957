// The link between Streamlit's component and the stored view: mounted at each step, taken off once.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = (name) => readFileSync(new URL(`../../ui/components/${name}`, import.meta.url), "utf8");
const mount = new Function("VIEW", text("in_order.js") + text("link.js").replace(/^export default /m, "return "))(
  "map",
);
const at = (step, parentElement) => ({ key: "k", data: { step }, parentElement });

test("a view outlives the steps that were overtaken, and ends with its place on the page", () => {
  const seen = [],
    place = { isConnected: true, view: { destroy: () => seen.push("destroyed") } };
  const shows = new Map();
  globalThis.storedViews = { map: { shows, show: (c) => seen.push(c.data.step) } };
  const [first, second] = [1, 2].map((step) => mount(at(step, place)));
  first();
  assert.deepEqual([seen, shows.get("k").data.step], [[1, 2], 2]);
  place.isConnected = false;
  second();
  first();
  assert.deepEqual([seen, shows.size], [[1, 2, "destroyed"], 0]);
});

test("what left the page takes nothing from the place that has its key now", () => {
  const destroyed = [],
    place = (name) => ({ isConnected: true, view: { destroy: () => destroyed.push(name) } });
  const [old, now] = [place("old"), place("now")];
  const shows = new Map(),
    drawn = [];
  globalThis.storedViews = { map: { shows, show: (c) => drawn.push(c.data.step) } };
  const leave = mount(at(1, old));
  old.isConnected = false;
  mount(at(2, now));
  leave();
  assert.deepEqual([shows.get("k").data.step, destroyed], [2, ["old"]]);
  assert.equal(mount(at(3, old)), undefined);
  assert.deepEqual([shows.get("k").data.step, drawn], [2, [1, 2]]);
});

test("of steps that waited for their script the latest stays, whatever their order", () => {
  const seen = [],
    shows = new Map();
  globalThis.storedViews = { map: { shows, show: (c) => seen.push(c.step ?? c.data.step) } };
  const place = { isConnected: true };
  for (const step of [2, 1, 2, 3]) mount(at(step, place));
  assert.deepEqual(seen, [2, 2, 3]);
  const packed = (step) => {
    const bytes = new Uint8Array(23);
    new DataView(bytes.buffer).setFloat64(15, step, true);
    return { key: "p", step, data: bytes.subarray(3), parentElement: other };
  };
  const other = { isConnected: true };
  for (const step of [2.5, 1.5, 3.5]) mount(packed(step));
  assert.deepEqual([seen.slice(3), shows.get("p").step], [[2.5, 3.5], 3.5]);
});
