// What hands do to the map, with the mouse, by touch, and by held keys.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mock, test } from "node:test";
import { declared } from "./declared.js";

const MAP = "components/memory_map/";
const files = ["plan", "axes", "area", "view", "tree", "listing", "commands", "film", "keys", "hands"].map(
  (name) => `${MAP}${name}.js`,
);
const HEAD = `const VIEW = "map", TABLES = {}, GLOSSARY = {};
function drawBase() {}
function drawTop() {}`;
const { MapView, View, drawTree, flash } = declared(
  ["MapView", "View", "drawTree", "flash"],
  ["components/words.js", "components/common.js", ...files],
  HEAD,
);

// What the browser does at its next frame, as far as `at` milliseconds after the page began.
let frame = null;
globalThis.requestAnimationFrame = (todo) => {
  frame = todo;
  return 1;
};
globalThis.cancelAnimationFrame = () => {
  frame = null;
};
globalThis.document = { querySelector: () => null };
const shown = (at) => frame?.(performance.now() + at);

// A map of 100 moves, one per slot, that draws nothing.
function view() {
  const button = { setAttribute() {}, value: "10" };
  const plan = {
    numMoves: 100,
    lastMove: 99,
    move_time: Int32Array.from({ length: 100 }, (_, move) => move),
    moveAt: (slot) => slot,
    neighbour: (move, step) => move + 7 * step,
    mattering: (move, step) => move + step,
  };
  const map = Object.assign(Object.create(MapView.prototype), {
    plan,
    axes: { width: 170, plotWidth: 100, xOf: (slot) => 62 + slot, slotAt: (x) => x - 62 },
    root: { querySelector: () => button, focus() {}, isConnected: true },
    state: { move: 0, selected: -1, hover: -1 },
    area: { isOpen: false },
    told: [],
  });
  for (const name of ["reveal", "commit", "drawTopOnly", "draw"]) map[name] = () => {};
  return map;
}

test("a film goes on from move to move and is stopped by any hand that moves", () => {
  const ways = {
    "a key": (map) => map.answers("ArrowRight", false, true, ""),
    "the same tensor": (map) => map.answers("ArrowDown", false, false, ""),
    "the first move": (map) => map.act("first"),
    "the ruler, the counter or the listing": (map) => map.go(50),
  };
  for (const [way, move] of Object.entries(ways)) {
    const map = view();
    map.play();
    shown(1010);
    assert.equal(map.state.move, 10);
    move(map);
    const now = map.state.move;
    assert.notEqual(now, 10, way);
    shown(2010);
    assert.deepEqual([map.film, map.state.move], [null, now], way);
  }
});

// A key pressed, or held, on the page.
function press(map, key, repeat, target = {}) {
  const seen = { isHeld: false };
  map.key({
    key,
    repeat,
    getModifierState: () => false,
    composedPath: () => [target],
    preventDefault: () => Object.assign(seen, { isHeld: true }),
    stopImmediatePropagation() {},
  });
  return seen.isHeld;
}

// A map that keeps what it would tell Python.
function player() {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1000 });
  const map = Object.assign(view(), { orders: [], sent: [], answersHelp: () => false });
  Object.assign(map.root, { removeAttribute() {}, setAttribute() {} });
  map.tell = () => map.sent.push(map.order);
  map.say = () => {};
  return map;
}

test("a held key plays no more than is answered", () => {
  globalThis.Element = class {};
  const map = player();
  for (const repeat of [false, true, true, true]) assert.ok(press(map, "3", repeat));
  assert.deepEqual([map.sent.length, map.orders.length], [1, 0]);
  map.answered(map.order.serial);
  assert.equal(map.sent.length, 1, "nothing waits when the hand lets go");
  for (const key of ["3", "1"]) press(map, key, false);
  assert.deepEqual([map.sent.length, map.orders.length], [2, 1], "keys that are pressed wait");
  press(map, "ArrowRight", true);
  assert.equal(map.state.move, 1, "looking goes on");
  for (let n = 0; n < 500; n++) press(map, "3", false);
  assert.ok(map.orders.length < 50, "no more waits than one can remember");
  mock.timers.reset();
});

test("Enter held on a card presses it once", () => {
  globalThis.Element = class {
    closest(selector) {
      return selector === "button, a, summary" || selector === ".turn [data-do]" ? this : null;
    }
  };
  const map = player();
  assert.deepEqual(
    [press(map, "Enter", false, new Element()), press(map, "Enter", true, new Element())],
    [false, true],
  );
  mock.timers.reset();
});

// A map that listens, and how to send it an event: on its canvas, or on the page.
function listening() {
  const handlers = new Map(),
    map = Object.assign(view(), { on: (target, event, handler) => handlers.set([target, event].join(), handler) });
  const names = new Set();
  globalThis.window = "window";
  Object.assign(document, { toString: () => "page" });
  map.top = {
    addEventListener() {},
    setPointerCapture() {},
    getBoundingClientRect: () => ({ left: 0, top: 0 }),
    classList: { add: (name) => names.add(name), remove: (name) => names.delete(name), toggle() {} },
    toString: () => "top",
  };
  map.root.toString = () => "root";
  map.counter = { toString: () => "counter" };
  map.root.classList = { contains: () => false };
  map.card = {};
  map.onResize = () => {};
  Object.assign(map.axes, {
    mini: { top: 400 },
    curve: { top: 300 },
    top: 20,
    times: 250,
    granuleAt: (y) => y,
    pan: (dx, dy) => map.told.push(["pan", dx, dy]),
  });
  map.plan.stayAt = () => -1;
  map.select = (group) => map.told.push(["select", group]);
  map.listen();
  const send = (name, given = {}, at = "top") =>
    handlers.get(`${at},${name}`)?.({ button: 0, pointerId: 1, clientX: 100, clientY: 100, ...given });
  return { map, send };
}

test("the second click of a double click on a card plays nothing", () => {
  globalThis.Element = class {
    dataset = { do: "play", action: "2" };
    closest() {
      return this;
    }
  };
  const { map, send } = listening();
  map.command = (name) => map.told.push(name);
  for (const detail of [1, 2]) send("click", { detail, target: new Element() }, "page");
  assert.deepEqual(map.told, ["play"]);
  send("click", { detail: 0, target: new Element() }, "page");
  assert.deepEqual(map.told, ["play", "play"], "the keyboard clicks without a mouse");
});

test("only the left button holds the map", () => {
  const { map, send } = listening();
  for (const button of [1, 2]) {
    send("pointerdown", { button });
    send("pointermove", { clientX: 150 });
    send("pointerup", { button });
  }
  assert.deepEqual(map.told, []);
  send("pointerdown");
  send("pointermove", { clientX: 150 });
  assert.deepEqual(map.told, [["pan", 50, 0]]);
});

test("a drag that the browser takes away has ended", () => {
  for (const end of ["pointercancel", "lostpointercapture"]) {
    const { map, send } = listening();
    send("pointerdown");
    send(end);
    send("pointermove", { clientX: 150 });
    assert.deepEqual(map.told, [], end);
  }
});

test("a second finger moves nothing, and lifting it ends nothing", () => {
  const { map, send } = listening();
  send("pointerdown");
  send("pointerdown", { pointerId: 2, clientX: 300 });
  send("pointermove", { pointerId: 2, clientX: 400 });
  send("pointerup", { pointerId: 2, clientX: 400 });
  assert.deepEqual(map.told, []);
  send("pointermove", { clientX: 110 });
  assert.deepEqual(map.told, [["pan", 10, 0]]);
});

test("what is under the pointer is told anew when the map is drawn anew", () => {
  const { map, send } = listening();
  delete map.drawTopOnly;
  delete map.draw;
  Object.assign(map, { look: {}, plan: map.plan, lookNow() {}, describe() {} });
  map.base = map.top;
  map.top.getContext = () => {};
  map.card.style = {};
  let slot = 0;
  Object.assign(map.plan, {
    stayAt: () => slot,
    stay_group: [0, 1],
    group_value: [0, 1],
    value_names: ["before", "after"],
    value_shapes: ["", ""],
    group_bytes: [1, 1],
    stay_start: [0, 0],
    stay_end: [9, 9],
    stay_offset: [0, 0],
    group_saving: [0, 0],
    group_more: [0, 0],
    group_kind: [0, 0],
    group_path: [0, 0],
    group_layer: [0, 0],
    paths: [],
    layers: [],
    stay_arrival: [-1, -1],
  });
  const drawn = () => {
    while (frame) {
      const todo = frame;
      frame = null;
      todo();
    }
  };
  send("pointermove");
  drawn();
  assert.match(map.card.innerHTML, /before/);
  slot = 1;
  map.draw();
  drawn();
  assert.match(map.card.innerHTML, /after/);
  assert.equal(map.state.hover, 1);
  map.hide();
  map.draw();
  drawn();
  assert.ok(map.card.hidden, "what was put away stays away");
});

test("a card is as wide as it likes to be, wherever it stood before", () => {
  const { map, send } = listening();
  const style = {};
  map.plan.numSlots = 600;
  Object.assign(map.plan, { opcodes: ["add"], slot_opcode: [], slot_fast: [], slot_slow: [], slot_reserved: [] });
  Object.assign(map.plan, { slot_stall: [], slot_times: [], slot_path: [], paths: [], op_names: [] });
  map.plan.instruction_names = Array(600).fill("add");
  Object.assign(map.axes, { width: 600, height: 460 });
  map.card = {
    style,
    get offsetWidth() {
      return Math.min(200, 600 - (Number.parseFloat(style.left) || 0));
    },
    offsetHeight: 50,
  };
  style.left = "560px";
  send("pointermove", { clientX: 550, clientY: 260 });
  assert.equal(style.left, `${550 - 200 - 14}px`);
});

test("Enter in the counter leaves the page where it is", () => {
  const { map, send } = listening();
  let given;
  Object.assign(map.counter, { value: "31" });
  map.root.focus = (options) => {
    given = options;
  };
  send("keydown", { key: "Enter" }, "counter");
  assert.deepEqual([map.state.move, given], [30, { preventScroll: true }]);
});

test("whoever is among the variations by keyboard stays there when they change", () => {
  const root = {},
    focused = [];
  let buttons = [];
  const list = {
    set innerHTML(html) {
      root.activeElement = null;
      buttons = [...html.matchAll(/data-number="(-?\d+)" aria-level="\d+" aria-current="(\w+)"/g)].map(
        ([, number, isCurrent]) => ({ dataset: { number }, isCurrent, focus: () => focused.push(number) }),
      );
    },
    getRootNode: () => root,
    contains: (element) => buttons.includes(element),
    querySelector: (wanted) =>
      buttons.find(({ dataset, isCurrent }) =>
        wanted.includes("number") ? wanted.includes(`"${dataset.number}"`) : isCurrent === "true",
      ) ?? null,
    parentElement: {},
  };
  const hint = {},
    map = { plan: { numMoves: 9 }, root: { querySelector: (of) => (of === ".tree" ? list : hint) } };
  map.root.querySelectorAll = () => [];
  const rect = { top: 0, bottom: 0 };
  list.parentElement.getBoundingClientRect = () => rect;
  const draw = (rows, current) => {
    drawTree(map, { rows: rows.map(() => [-1, 0, 9, 1, 0, 0, "you"]), current, name: "plan", can: [] });
    for (const button of buttons) button.getBoundingClientRect = () => rect;
  };
  list.querySelector = ((find) => (wanted) => {
    const button = find(wanted);
    if (button) button.getBoundingClientRect = () => rect;
    return button;
  })(list.querySelector);
  draw([0, 1], 0);
  root.activeElement = buttons[2];
  draw([0, 1], 1);
  assert.deepEqual(focused, ["1"]);
  root.activeElement = buttons[2];
  draw([0], 0);
  assert.deepEqual(focused, ["1", "0"], "where that is gone, the one that is shown");
  root.activeElement = {};
  draw([0, 1], 0);
  assert.equal(focused.length, 2, "from elsewhere nothing is taken");
});

test("a button with a sign has its name in words", () => {
  const html = readFileSync(new URL(`../../ui/${MAP}map.html`, import.meta.url), "utf8");
  const buttons = [...html.matchAll(/<button([^>]*)>([^<]*)<\/button>/g)];
  const nameless = buttons.filter(([, given, text]) => !/^[\w ]+$/.test(text) && !given.includes("aria-label="));
  assert.ok(buttons.length > 20);
  assert.deepEqual(
    nameless.map(([button]) => button),
    [],
  );
});

test("the card of a refused action flashes, but for those who want no motion", () => {
  const given = [];
  globalThis.document.querySelector = () => ({ animate: (_, options) => given.push(options.easing) });
  for (const matches of [false, true]) {
    globalThis.matchMedia = () => ({ matches });
    flash(0);
  }
  globalThis.document.querySelector = () => null;
  assert.deepEqual(given, ["linear", "steps(1)"]);
});

test("on a monitor of another pixel ratio a view is drawn anew, each time", () => {
  const asked = [],
    drawn = [];
  globalThis.ResizeObserver = class {
    observe() {}
    disconnect() {}
  };
  globalThis.matchMedia = (query) => {
    const target = Object.assign(new EventTarget(), { query });
    asked.push(target);
    return target;
  };
  const shown = Object.assign(Object.create(View.prototype), { cleanups: [] });
  globalThis.devicePixelRatio = 1;
  shown.onResize({}, () => drawn.push(devicePixelRatio));
  for (const ratio of [2, 1.5]) {
    globalThis.devicePixelRatio = ratio;
    asked.at(-1)?.dispatchEvent(new Event("change"));
  }
  assert.deepEqual(drawn, [2, 1.5]);
  assert.deepEqual(
    asked.map(({ query }) => query),
    ["(resolution: 1dppx)", "(resolution: 2dppx)", "(resolution: 1.5dppx)"],
  );
  shown.destroy();
  asked.at(-1).dispatchEvent(new Event("change"));
  assert.equal(drawn.length, 2, "a view that is gone draws nothing");
});

test("the button of the film says what it does next", () => {
  const map = view(),
    labels = [],
    button = { setAttribute: (_, label) => labels.push(label), value: "10" };
  map.root.querySelector = () => button;
  map.play();
  map.play();
  assert.deepEqual([labels, button.title], [["Pause", "Play the moves"], "Play the moves (Space)"]);
});
