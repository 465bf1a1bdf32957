// Letters stand out from their ground by 4.5 to 1, in the light and in the dark theme.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { declared } from "./declared.js";
import { Pen } from "./pen.js";

const read = (file) => readFileSync(new URL(`../../ui/${file}`, import.meta.url), "utf8");
const THEMES = read(".streamlit/config.toml")
  .split(/^\[theme\./m)
  .filter((part) => /^(light|dark)\]/.test(part))
  .map((part) => Object.fromEntries([...part.matchAll(/^(\w+) = "(#\w{6})"/gm)].map(([, name, hex]) => [name, hex])));
const LEAST = 4.5;

const channels = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
const mixed = (one, other, share) => one.map((value, n) => share * value + (1 - share) * other[n]);

function lightness(colour) {
  const [r, g, b] = colour.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [lightness(one), lightness(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("pale text of the style sheets can be read", () => {
  const pale = /(?<![-\w])color: color-mix\(in srgb, var\(--st-text-color\) (\d+)%, transparent\)/g;
  const sheets = ["components/common.css", "compare/maps/sheet.css", "learn/lesson_map.css", "search/tree/search.css"];
  for (const sheet of sheets) {
    const shares = [...read(sheet).matchAll(pale)].map(([, share]) => Number(share) / 100);
    assert.ok(shares.length, sheet);
    for (const share of shares) {
      for (const theme of THEMES) {
        const [text, ground] = [channels(theme.textColor), channels(theme.backgroundColor)];
        const found = contrast(mixed(text, ground, share), ground);
        assert.ok(found >= LEAST, `${sheet}: ${share} gives ${found.toFixed(2)}`);
      }
    }
  }
});

// A colour, or a share of one, on a ground.
function seen(css, ground) {
  const [, hex, share] = css.match(/^color-mix\(in srgb, (#\w+) (\d+)%, transparent\)$/) ?? [css, css, 100];
  return mixed(channels(hex), ground, Number(share) / 100);
}

function paletteOf(theme) {
  const palette = Object.fromEntries(Object.entries(theme).map(([name, hex]) => [name.replace("Color", ""), hex]));
  return { ...palette, "secondary-background": theme.secondaryBackgroundColor, font: "sans" };
}

const MAP = "components/memory_map/";
const drawing = declared(
  ["Axes", "drawGrid", "drawTimes", "labelSpan"],
  [
    "components/words.js",
    "components/palette.js",
    ...["plan", "axes", "draw", "strip", "curve"].map((n) => `${MAP}${n}.js`),
  ],
  "const TABLES = {};",
);

test("what the map writes beside its axes and strips can be read", () => {
  for (const theme of THEMES) {
    const pen = new Pen(),
      palette = paletteOf(theme),
      axes = new drawing.Axes(),
      seconds = Float64Array.of(1, 1),
      plan = { numSlots: 2, granule: 1024, fast_granules: 1000, slot_begin: Float64Array.of(0, 3, 6) };
    Object.assign(plan, { slot_fast: seconds, slot_slow: seconds, slot_stall: seconds });
    axes.load(plan);
    axes.resize(600, 500);
    drawing.drawGrid(pen, axes, plan, palette);
    drawing.drawTimes(pen, axes, plan, { palette });
    drawing.labelSpan(pen, axes, palette, true, -1, 1);
    assert.ok(pen.texts.length > 6);
    const ground = channels(theme.backgroundColor);
    for (const { text, colour } of pen.texts) {
      const found = contrast(seen(colour, ground), ground);
      assert.ok(found >= LEAST, `${text} gives ${found.toFixed(2)}`);
    }
  }
});

test("names on the film of a search can be read on every block", () => {
  const { Film } = declared(
    ["Film"],
    ["components/words.js", "components/palette.js", "search/tree/paint.js", "search/tree/film.js"],
    "const ILLEGAL = 2;",
  );
  for (const theme of THEMES) {
    const palette = paletteOf(theme),
      film = Object.assign(Object.create(Film.prototype), { pen: new Pen(), look: { palette }, width: 400 });
    film.box = () => [100, 0, 100, 20];
    Object.assign(film, { game: { group_names: ["a"] }, now: 0, last: 9, board: { standing: [{ group: 0, end: 9 }] } });
    film.drawStanding(new Map(), []);
    const place = { start: 0, end: 4, until: 4, offset: 0, size: 9 };
    for (const action of [0, 1]) film.drawAct({ action, place, group: 0, support: 1 }, false);
    assert.equal(film.pen.texts.length, 3);
    for (const { colour, rim, fills } of film.pen.texts) {
      let ground = channels(theme.backgroundColor);
      for (const fill of [...fills, ...(rim ? [rim] : [])]) ground = seen(fill, ground);
      const found = contrast(seen(colour, ground), ground);
      assert.ok(found >= LEAST, `on ${fills} it gives ${found.toFixed(2)}`);
    }
  }
});

test("the labels of ghosts can be read", () => {
  const { tagColour, GHOSTS } = declared(["tagColour", "GHOSTS"], ["components/palette.js"]);
  for (const theme of THEMES) {
    for (const name of Object.values(GHOSTS)) {
      const mix = tagColour({ text: theme.textColor }, theme[`${name}Color`]);
      const [, one, share, other] = mix.match(/^color-mix\(in srgb, (#\w+) (\d+)%, (#\w+)\)$/);
      const ground = mixed(channels(one), channels(other), Number(share) / 100);
      const found = contrast(channels(theme.backgroundColor), ground);
      assert.ok(found >= LEAST, `${name} gives ${found.toFixed(2)}`);
    }
  }
});

const PARTS = ["messages", "paint", "tree", "icicle", "budget", "curve", "film"];
const TREE = ["words", "palette", "common"].map((name) => `components/${name}.js`);
const { Icicle, BudgetChart, ValueCurve, Film, Panel, diverging, mix } = declared(
  ["Icicle", "BudgetChart", "ValueCurve", "Film", "Panel", "diverging", "mix"],
  [...TREE, ...PARTS.map((name) => `search/tree/${name}.js`), "compare/maps/panel.js"],
  "const GLOSSARY = {}, MOST_STEPS = 200;",
);

function assertReads(written, grounds, what) {
  assert.ok(written.length, what);
  for (const { text, colour, rim } of written) {
    for (const ground of grounds) {
      const around = rim ? seen(rim, ground) : ground,
        found = contrast(seen(colour, around), around);
      assert.ok(found >= LEAST, `${what}, ${text}: ${found.toFixed(2)}`);
    }
  }
}

test("what Search and Compare write beside their canvases can be read", () => {
  globalThis.devicePixelRatio = 1;
  for (const theme of THEMES) {
    const palette = paletteOf(theme),
      ground = [channels(theme.backgroundColor)];
    const made = (Class, more) => {
      const pen = new Pen(),
        canvas = { clientWidth: 300, clientHeight: 120, getContext: () => pen };
      const one = { pen, canvas, width: 300, height: 120, palette, ...more };
      return [Object.assign(Object.create(Class.prototype), one), pen.texts];
    };
    const tree = {
      deepest: 2,
      move: 0,
      last: 4,
      history: [[0, 1, 2, 3, 4]],
      legal: [1],
      flips: [],
      leads: [0, 0, 0, 0, 0],
    };
    const [icicle, rows] = made(Icicle, { tree, top: 0 });
    icicle.drawRows({ palette });
    assertReads(rows, ground, "rows of the tree");
    const [chart, visits] = made(BudgetChart, {});
    chart.draw(tree, 2, palette);
    assertReads(visits, ground, "the chart of the visits");
    const [curve, values] = made(ValueCurve, { game: { best_possible: null }, low: 0, high: 1 });
    curve.drawAxis(true);
    assertReads(values, ground, "the value curve");
    const film = { look: { palette, patterns: {} }, bottom: 100, first: 0, last: 0, now: 0 };
    film.game = { fast_granules: 4, granule: 1, slot_reserved: [], instruction: () => "dot" };
    const [played, addresses] = made(Film, film);
    played.drawGround();
    played.drawCursor();
    assertReads(addresses, ground, "the film");
    const [panel, edges] = made(Panel, {
      look: { palette },
      plans: { fast_granules: 4, granule: 1 },
      view: { y0: 0, y1: 4 },
    });
    panel.bottom = 100;
    panel.drawAddresses();
    assertReads(edges, ground, "the layouts");
  }
});

test("what Search writes on its colours can be read", () => {
  for (const theme of THEMES) {
    const palette = paletteOf(theme),
      page = channels(theme.backgroundColor),
      on = (colours) => colours.map((colour) => seen(colour, page));
    const nodes = [-1, 0, 1].map((share) => diverging(palette, share));
    const pen = new Pen();
    const icicle = Object.assign(Object.create(Icicle.prototype), { pen, look: { palette }, tree: { state: [1] } });
    Object.assign(icicle, { grown: { count: 8 } }).label(0, 0, 0, 300);
    assertReads(pen.texts, on([...nodes, mix(palette.violet, 0.76)]), "a node");
    const acts = ["blue", "green", "red"].map((tone) => mix(palette[tone], 0.76));
    const film = { pen: new Pen(), look: { palette } };
    Object.assign(Object.create(Film.prototype), film).name("a", [0, 0, 90, 20]);
    assertReads(film.pen.texts, on([...acts, mix(palette.gray, 0.34)]), "a block of the film");
  }
});

test("lessons that a search leaves out can be read, since they open all the same", () => {
  const rules = [...read("learn/lesson_map.css").matchAll(/^\.faint([^{]*)\{([^}]*)\}/gm)].map(([, , rule]) => rule);
  assert.ok(rules.length);
  for (const rule of rules) assert.ok(!/opacity/.test(rule), rule);
});
