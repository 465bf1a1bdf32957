// Packed messages as ui/components/packing.py writes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const { unpack, registry } = declared(["unpack", "registry"], ["components/common.js"], 'const VIEW = "map";');

// A message inside a larger buffer, at an offset that no typed array may begin at.
function message(header, columns) {
  const text = new TextEncoder().encode(JSON.stringify(header).padEnd(204));
  const bytes = new Uint8Array(3 + 4 + text.length + columns.byteLength);
  new DataView(bytes.buffer).setUint32(3, text.length, true);
  bytes.set(text, 7);
  bytes.set(new Uint8Array(columns), 7 + text.length);
  return bytes.subarray(3);
}

test("a message gives its facts and its columns", () => {
  const columns = new ArrayBuffer(16);
  new Float64Array(columns, 0, 1)[0] = 2.5;
  new Int32Array(columns, 8, 2).set([7, -1]);
  const places = { seconds: ["Float64", 0, 1], group: ["Int32", 8, 2] };
  const [facts, found] = unpack(message({ program: "teach", columns: places }, columns));
  assert.deepEqual(facts, { program: "teach" });
  assert.deepEqual([...found.seconds], [2.5]);
  assert.deepEqual([...found.group], [7, -1]);
});

test("a view has one registry", () => {
  registry().kept.set("id", 1);
  assert.equal(registry().kept.get("id"), 1);
  assert.deepEqual(Object.keys(globalThis.storedViews), ["map"]);
});
