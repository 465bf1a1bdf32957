// The link between Streamlit's component and the stored view: mounted at each step, taken off once.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const TEXT = readFileSync(new URL("../../ui/components/link.js", import.meta.url), "utf8");
const mount = new Function("VIEW", TEXT.replace(/^export default /m, "return "))("map");

test("a view outlives the steps that were overtaken, and ends with its place on the page", () => {
  const seen = [],
    place = { isConnected: true, view: { destroy: () => seen.push("destroyed") } };
  const shows = new Map();
  globalThis.storedViews = { map: { shows, show: (c) => seen.push(c.step) } };
  const [first, second] = [1, 2].map((step) => mount({ key: "k", step, parentElement: place }));
  first();
  assert.deepEqual([seen, shows.get("k").step], [[1, 2], 2]);
  place.isConnected = false;
  second();
  first();
  assert.deepEqual([seen, shows.size], [[1, 2, "destroyed"], 0]);
});
