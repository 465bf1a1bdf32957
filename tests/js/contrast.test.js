// Letters stand out from their ground by 4.5 to 1, in the light and in the dark theme.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { declared } from "./declared.js";

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
