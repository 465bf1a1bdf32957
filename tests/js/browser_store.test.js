// The text in the browser's storage, between tabs that do not know of each other.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const NAME = "progress";
const SCRIPT = readFileSync(new URL("../../ui/components/browser_store.js", import.meta.url), "utf8");
const { default: run } = await import(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);

// A browser with as many tabs, each with a page of its own; `see` is what Python draws on it.
function browser(numTabs) {
  const kept = new Map(),
    tabs = [];
  for (let number = 0; number < numTabs; number++) {
    const tab = { sent: [], kept: [], listeners: [], stores: undefined };
    const place = { isConnected: true };
    tab.see = (token, text, quiet = false) => {
      globalThis.localStorage = {
        getItem: (name) => kept.get(name) ?? null,
        setItem: (name, value) => {
          if (tab.isFull) throw new Error("QuotaExceededError");
          tab.change(() => kept.set(name, value));
        },
        removeItem: (name) => tab.change(() => kept.delete(name)),
      };
      globalThis.addEventListener = (_, listener) => tab.listeners.push(listener);
      globalThis.browserStores = tab.stores;
      const send = (_, { text: found, kept: isKept }) => {
        tab.sent.push(found);
        tab.kept.push(isKept);
      };
      run({ data: { name: NAME, text, token, quiet }, setStateValue: send, parentElement: quiet ? {} : place });
      tab.stores = globalThis.browserStores;
    };
    // The browser tells all other tabs.
    tab.change = (how) => {
      how();
      for (const other of tabs) if (other !== tab) for (const listener of other.listeners) listener({ key: NAME });
    };
    tabs.push(tab);
  }
  return { kept, tabs };
}

test("what is stored goes to Python once, and what has a later token is written", () => {
  const { kept, tabs } = browser(1);
  const [tab] = tabs;
  kept.set(NAME, "old");
  tab.see("", "");
  tab.see("", "");
  assert.deepEqual(tab.sent, ["old"]);
  tab.see("2", "new", true);
  assert.equal(kept.get(NAME), "new");
  tab.see("1", "late");
  assert.equal(kept.get(NAME), "new");
  tab.see("3", "");
  assert.equal(kept.has(NAME), false);
});

test("nothing is written over what another tab has stored before Python has it", () => {
  const { kept, tabs } = browser(2);
  for (const tab of tabs) tab.see("", "");
  const [one, other] = tabs;
  // As if the other tab slept.
  other.listeners.length = 0;
  one.see("1", "of one", true);
  other.see("2", "of the other", true);
  assert.equal(kept.get(NAME), "of one");
  assert.deepEqual(other.sent, ["", "of one"]);
  other.see("3", "of both");
  assert.equal(kept.get(NAME), "of both");
});

test("a text that was there before Python wrote for the first time is not lost", () => {
  const { kept, tabs } = browser(1);
  kept.set(NAME, "old");
  tabs[0].see("1", "new");
  assert.equal(kept.get(NAME), "old");
  assert.deepEqual(tabs[0].sent, ["old"]);
});

test("a tab hears at once what another one has stored", () => {
  const { tabs } = browser(2);
  for (const tab of tabs) tab.see("", "");
  tabs[0].see("1", "of one", true);
  assert.deepEqual(tabs[1].sent, ["", "of one"]);
  assert.deepEqual(tabs[0].sent, [""]);
});

test("Python hears at once that a text was not kept, and that a later one was", () => {
  const { kept, tabs } = browser(1);
  const [tab] = tabs;
  tab.see("", "");
  tab.see("1", "one", true);
  assert.deepEqual(tab.kept, [true]);
  tab.isFull = true;
  tab.see("2", "two", true);
  assert.deepEqual(tab.kept, [true, false]);
  tab.see("2", "two");
  assert.deepEqual([kept.get(NAME), tab.kept], ["one", [true, false]]);
  tab.isFull = false;
  tab.see("2", "two", true);
  assert.deepEqual([kept.get(NAME), tab.kept], ["two", [true, false, true]]);
});
