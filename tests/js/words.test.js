// Quantities and sentences, in the words of ui/components/units.py.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const names = [
  "shortAction",
  "isFast",
  "digits",
  "counted",
  "sizeText",
  "timeText",
  "signedTime",
  "escapeText",
  "cardOf",
  "moveSentence",
  "slotsText",
  "stayCard",
  "moveOfText",
];
const words = declared(names, ["components/words.js"]);

test("sizes have a binary prefix and three digits", () => {
  const sizes = [0, 512, 1024, 1536, 12.3 * 2 ** 20, 128 * 2 ** 20, 2 ** 41];
  const texts = ["0 B", "512 B", "1.00 KiB", "1.50 KiB", "12.3 MiB", "128 MiB", "2.00 TiB"];
  assert.deepEqual(
    sizes.map((size) => words.sizeText(size)),
    texts,
  );
});

test("times have the prefix that leaves one to three digits before the point", () => {
  const times = [0, 1.5e-6, 999.96e-9, 14.2e-6, 0.25, 3, -3e-3];
  assert.deepEqual(
    times.map((time) => words.timeText(time)),
    ["0 ns", "1.50 µs", "1.00 µs", "14.2 µs", "250 ms", "3.00 s", "−3.00 ms"],
  );
});

test("a difference has its sign, and one that is only rounding has none", () => {
  assert.deepEqual([2e-6, -2e-6, 1e-14].map(words.signedTime), ["+2.00 µs", "−2.00 µs", "± 0"]);
});

test("names from uploads are text", () => {
  const name = `<img src="x" onerror="alert(1)">&`;
  assert.equal(words.escapeText(name), "&lt;img src=&quot;x&quot; onerror=&quot;alert(1)&quot;&gt;&amp;");
  for (const row of [
    ["shape", name],
    [`${name} has`, "1 ms"],
  ])
    assert.ok(!words.cardOf(name, [row]).includes("<img"));
});

test("what goes to the other end has a sign where room is short, and is as fast", () => {
  assert.deepEqual([0, 1, 2, 3, 4].map(words.shortAction), ["Copy", "NoCopy", "Drop", "Copy ⇅", "NoCopy ⇅"]);
  assert.deepEqual([0, 1, 2, 3, 4, 5].map(words.isFast), [true, true, false, true, true, false]);
});

test("a move is a sentence", () => {
  const plan = {
    numMoves: 3,
    numSlots: 2,
    tip: 1,
    move_flags: [3, 2, 4],
    move_time: [0, 1, 2],
    move_value: [0, 0, 0],
    move_group: [0, 0, 0],
    move_saving: [3e-6, 2e-6, 0],
    move_worth: [1e-6, 2e-6, 0],
    move_more: [0, 0.5e-6, 0],
    move_action: [1, 5, 5],
    value_names: ["weights"],
    group_bytes: [2048],
    instruction_names: ["fusion.1", "copy.2"],
  };
  assert.deepEqual(
    [0, 1, 2].map((move) => words.moveSentence(plan, move)),
    [
      "fusion.1 updates weights · 2.00 KiB · 1.00 µs at stake → NoCopy",
      "copy.2 writes weights · 2.00 KiB · 2.00 µs at stake, not observed: up to 2.50 µs → ?",
      "end of the program needs in slow memory weights · 2.00 KiB → ?",
    ],
  );
});

test("slots are told to the last one, and what comes before the program in words", () => {
  const spans = [
    [3, 4],
    [1200, 1300],
    [-1, 24],
    [-1, 1],
  ];
  assert.deepEqual(
    spans.map((span) => words.slotsText(...span)),
    ["slot 3", "slots 1,200 to 1,299", "slots 0 to 23, from the previous run on", "slot 0, from the previous run on"],
  );
});

test("a tensor's card marks what no compile has shown", () => {
  const plan = {
    stay_group: [0, 1],
    stay_start: [0, 0],
    stay_end: [1, 1],
    stay_offset: [0, 0],
    stay_arrival: [-1, -1],
    group_value: [0, 0],
    group_bytes: [2048, 2048],
    group_kind: [0, 0],
    group_saving: [1e-6, 1e-6],
    group_more: [0, 2e-6],
    group_layer: [0, 0],
    granule: 128,
    layers: ["layer"],
    paths: ["layer / part"],
    group_path: [0, 0],
    value_names: ["weights"],
    value_shapes: ["f32[512]"],
  };
  const [shown, marked] = [0, 1].map((stay) => words.stayCard(plan, stay));
  assert.match(shown, /layer<\/td><td>layer \/ part<\/td>/);
  assert.match(shown, /stays<\/td><td>slot 0<\/td>/);
  assert.match(shown, /could save<\/td><td>1.00 µs<\/td>/);
  assert.match(marked, /could save<\/td><td>1.00 µs, not observed: up to 3.00 µs<\/td>/);
});

test("a move is typed as it is shown, and what is no number leads nowhere", () => {
  assert.deepEqual(["1,200", "1200", " 12 ", "1\u202f200", "1"].map(words.moveOfText), [1199, 1199, 11, 1199, 0]);
  assert.deepEqual(["", "x", "12x", "-", ","].map(words.moveOfText), [null, null, null, null, null]);
});

test("a number and its noun agree", () => {
  assert.deepEqual(
    [0, 1, 2048].map((number) => words.counted(number, "move")),
    ["0 moves", "1 move", "2,048 moves"],
  );
});
