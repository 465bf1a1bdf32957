// A copied link: what the view says is what became of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const { Sheet } = declared(["Sheet"], ["components/common.js", "compare/maps/sheet.js"]);

async function said(clipboard) {
  Object.defineProperty(globalThis, "navigator", { value: { clipboard }, configurable: true });
  globalThis.location = new URL("http://x/compare?plans=a");
  const addresses = [];
  globalThis.history = { state: null, replaceState: (_, __, address) => addresses.push(address.href) };
  const sheet = { window: { text: "slots,0,1,0,1" }, status: {} };
  Sheet.prototype.copyLink.call(sheet);
  await Promise.resolve();
  assert.match(addresses[0], /plans=a&window=slots/);
  return sheet.status.textContent;
}

test("a link is said to be on the clipboard only if it is there", async () => {
  const texts = [];
  const works = { writeText: async (text) => texts.push(text) };
  assert.match(await said(works), /clipboard/);
  assert.match(texts[0], /window=slots/);
  const refuses = { writeText: () => Promise.reject(new Error("no")) };
  for (const clipboard of [undefined, refuses]) {
    const text = await said(clipboard);
    assert.match(text, /address bar/);
    assert.doesNotMatch(text, /clipboard/);
  }
});
