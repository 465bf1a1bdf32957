// Small charts: round axes, bars that lie where their values are, lines with gaps.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";

const names = ["number", "ticks", "logTicks", "bars", "lines", "wordsAt", "legend"];
const chart = declared(names, ["components/chart.js"]);

const BARS = {
  kind: "bars",
  labels: ["one", "two"],
  parts: [
    { name: "slow", colour: "red", values: [10, 4] },
    { name: "stalls", colour: "blue", values: [5, -4] },
  ],
  title: "µs",
  unit: "µs",
  height: 200,
  notes: ["1.50 ms", "4.00 µs"],
  marks: [
    { axis: "x", at: 7, text: "lower bound", colour: "grey", dash: "dotted" },
    { axis: "x", at: 7.1, text: "all slow", colour: "grey", dash: "solid" },
  ],
  shaded: 7,
};
const LINES = {
  kind: "lines",
  series: [
    { name: "a", colour: "red", style: "plain", dash: "solid", x: [0, 1, 2, 3], y: [1, null, 4, 8] },
    { name: "b", colour: "blue", style: "area", dash: "dotted", x: [0, 1, 2, 3], y: [2, 2, 0, 2] },
  ],
  x_title: "slot",
  y_title: "MiB",
  x_name: "slot",
  unit: "MiB",
  height: 300,
  marks: [{ axis: "y", at: 9, text: "most", colour: "grey", dash: "solid" }],
  top: null,
  is_log: false,
};

test("numbers have three digits and separated thousands, and nothing has no sign", () => {
  assert.deepEqual([12345.6, 0.012349, -0.5, -0, 999.6].map(chart.number), ["12,346", "0.0123", "−0.5", "0", "1,000"]);
});

test("an axis has round numbers", () => {
  assert.deepEqual(chart.ticks(0, 97, 5), [0, 20, 40, 60, 80]);
  assert.deepEqual(chart.ticks(-3, 3, 3), [-2, 0, 2]);
  assert.deepEqual(chart.ticks(4, 4, 3), [4]);
  assert.deepEqual(chart.logTicks(0.9, 120), [1, 2, 5, 10, 20, 50, 100]);
});

test("parts of a bar stand beside each other, and negative ones on the left", () => {
  const { places } = chart.bars(BARS, 800);
  const [first, second, plus, minus] = places;
  assert.ok(Math.abs(first.x + first.width - second.x) < 0.1);
  assert.ok(Math.abs(first.width / second.width - 2) < 0.01);
  assert.ok(Math.abs(minus.x + minus.width - plus.x) < 0.1);
  assert.deepEqual(first.words, ["one", "10 µs of slow"]);
});

test("two marks at one place do not write over each other", () => {
  const { svg } = chart.bars(BARS, 800);
  const [, first, second] = svg.match(/x="([\d.]+)"[^>]*>lower bound.*x="([\d.]+)"[^>]*>all slow/);
  assert.ok(Number(second) - Number(first) > 60);
});

test("a gap breaks a line, and a logarithm needs something positive", () => {
  const { svg } = chart.lines(LINES, 600);
  const path = svg.match(/d="([^"]*)" fill="none" stroke="red"/)[1];
  assert.equal(path.split("M").length - 1, 2);
  const log = chart.lines({ ...LINES, is_log: true }, 600).svg.match(/d="([^"]*)" fill="none" stroke="blue"/)[1];
  assert.equal(log.split("M").length - 1, 2);
});

test("the pointer reads what stands at or before it", () => {
  assert.deepEqual(chart.wordsAt(LINES, 2.7), ["slot 2", "a: 4 MiB", "b: 0 MiB"]);
  assert.deepEqual(chart.wordsAt(LINES, 1.2), ["slot 1", "b: 2 MiB"]);
  assert.deepEqual(chart.wordsAt({ ...LINES, series: [] }, 1), []);
});

test("names are text, and an empty chart is one", () => {
  const name = "<img src=x>";
  assert.ok(!chart.legend({ ...BARS, parts: [{ name, colour: "red" }] }).includes(name));
  assert.ok(chart.lines({ ...LINES, series: [], marks: [] }, 300).svg);
  assert.ok(chart.bars({ ...BARS, labels: [], notes: [], parts: [], marks: [] }, 300).svg);
});
