// Compare's maps: the window that all panels share, and where plans put a tensor.

import assert from "node:assert/strict";
import { test } from "node:test";
import { declared } from "./declared.js";
import { surface } from "./surface.js";

const { Plans, Window, inside, Sheet } = declared(
  ["Plans", "Window", "inside", "Sheet"],
  ["components/common.js", "compare/maps/plans.js", "compare/maps/sheet.js"],
);

// Four slots, of 1, 2, 1 and 4 seconds in the first plan, all of 1 second in the second.
function plans() {
  const one = [
    { slot_begin: [0, 1, 3, 4, 8], stay_group: [0], stay_offset: [2], stay_start: [-1], stay_end: [2] },
    { slot_begin: [0, 1, 2, 3, 4], stay_group: [0], stay_offset: [16], stay_start: [1], stay_end: [4] },
  ];
  const facts = { one, numSlots: 4, group_granules: [3], granule: 8, fast_granules: 100 };
  return Object.assign(Object.create(Plans.prototype), facts);
}

test("a window may not leave the whole, nor be smaller than the least", () => {
  assert.deepEqual(inside(-5, 5, 0, 100, 4), [0, 10]);
  assert.deepEqual(inside(95, 105, 0, 100, 4), [90, 100]);
  assert.deepEqual(inside(50, 51, 0, 100, 4), [48.5, 52.5]);
  assert.deepEqual(inside(-50, 500, 0, 100, 4), [0, 100]);
});

test("each plan has its own seconds; the longest sets the axis", () => {
  const window = new Window(plans());
  window.setUnit("seconds");
  assert.equal(window.total, 8);
  assert.deepEqual(
    [0, 1].map((plan) => window.unitOf(plan, 2)),
    [3, 2],
  );
  assert.deepEqual(
    [0.5, 1, 2.9, 3, 7.9, 99].map((second) => window.slotOf(0, second)),
    [0, 1, 1, 2, 3, 4],
  );
});

test("what is before the run is the previous one", () => {
  const window = new Window(plans());
  assert.deepEqual([window.slotOf(0, -0.01), window.unitOf(0, -1)], [-1, window.first]);
});

test("the text of a window brings it back, and nonsense changes nothing", () => {
  const [window, other] = [new Window(plans()), new Window(plans())];
  window.zoomAddress(0.5, 40);
  other.take(window.text);
  assert.equal(other.text, window.text);
  const edgeless = ["slots,-Infinity,Infinity,0,1", "seconds,0,1,-Infinity,1"];
  for (const text of ["", "hours,0,1,0,1", "slots,3,1,0,1", "slots,a,b,c,d", "slots,0,1", ...edgeless])
    other.take(text);
  assert.equal(other.text, window.text);
});

test("another unit shows the same slots", () => {
  const window = new Window(plans());
  window.take("slots,0,4,0,100");
  window.setUnit("seconds");
  assert.deepEqual([window.x0, window.x1], [0, 8]);
});

test("where a tensor is in each plan", () => {
  assert.deepEqual(plans().places(0, 1), ["0x10, the previous run to 2", "0x80, 1 to 4"]);
  assert.deepEqual(plans().places(0, 3), ["slow memory", "0x80, 1 to 4"]);
  assert.deepEqual(
    [1, 2, 4, 5].map((granule) => plans().stayAt(0, 1, granule)),
    [-1, 0, 0, -1],
  );
  assert.equal(plans().stayAt(0, 2, 3), -1);
});

test("another program begins with its own selection, whatever was chosen in the one before", () => {
  const state = { group: -1, hover: -1, slot: -1, isDiff: false };
  const made = Object.assign(Object.create(Sheet.prototype), { state, nonce: null, grid: { style: {} } });
  Object.assign(made, { build() {}, refresh() {} });
  const show = (program, group_names, data = {}) => {
    const shown = Object.assign(plans(), { program, group_names });
    made.update({ data: { nonce: 0, group: -1, slot: -1, ...data }, setStateValue() {} }, shown);
    return [state.group, state.hover, state.slot];
  };
  show("one", ["a", "b", "c"]);
  Object.assign(state, { group: 2, hover: 1, slot: 3 });
  assert.deepEqual(show("one", ["a", "b", "c"]), [2, 1, 3]);
  assert.deepEqual(show("other", ["a"]), [-1, -1, -1]);
  assert.deepEqual(show("third", ["a", "b"], { group: 1, slot: 2 }), [1, -1, 2]);
  assert.deepEqual(show("fourth", ["a"], { group: 1 }), [-1, -1, -1]);
});

// What a panel's canvas heard, and what came of it: choices and pulls.
function touched() {
  const done = [];
  const made = Object.assign(Object.create(Sheet.prototype), {
    state: {},
    status: {},
    draw() {},
    pick: (_panel, { offsetX }) => [offsetX, 7],
    choose: (_plan, slot) => done.push(`choose ${slot}`),
    window: { x0: 0, x1: 10, y0: 0, y1: 10, pan: (units) => done.push(`pan ${units}`) },
  });
  const { canvas, send } = surface();
  made.listen({ canvas, number: 0, plan: {}, plotWidth: 10, bottom: 10 });
  return { done, send };
}

test("a click of the main button chooses, a pull of it pans", () => {
  const { done, send } = touched();
  send("pointerdown", 5);
  send("pointerup", 5);
  send("pointerdown", 5);
  send("pointermove", 15);
  send("pointerup", 15);
  assert.deepEqual(done, ["choose 5", "pan -10"]);
});

test("another button is no click, and what a gesture of the browser breaks off is over", () => {
  const { done, send } = touched();
  send("pointerdown", 5, { button: 2 });
  send("pointerup", 5, { button: 2 });
  send("pointerdown", 5);
  send("pointercancel", 5);
  send("pointermove", 25, { buttons: 0 });
  send("pointerup", 25);
  assert.deepEqual(done, []);
});

test("a second finger neither pulls nor ends the pull of the first", () => {
  const { done, send } = touched();
  send("pointerdown", 5);
  send("pointerdown", 50, { pointerId: 2 });
  send("pointermove", 60, { pointerId: 2 });
  send("pointerup", 60, { pointerId: 2 });
  send("pointermove", 16);
  send("pointerup", 16);
  assert.deepEqual(done, ["pan -11"]);
});

test("a finger that goes down scrolls the page, one that goes to the side pulls", () => {
  const { done, send } = touched(),
    touch = { pointerType: "touch" };
  send("pointerdown", 5, touch);
  send("pointermove", 6, { ...touch, offsetY: 20 });
  send("pointercancel", 6, touch);
  send("pointerdown", 5, touch);
  send("pointermove", 25, { ...touch, offsetY: 10 });
  send("pointerup", 25, touch);
  assert.deepEqual(done, ["pan -20"]);
});

// A sheet without a page, and what it chose: [plan, slot, group].
function sheet() {
  const chosen = [],
    made = Object.assign(Object.create(Sheet.prototype), { plans: plans(), status: {}, draw() {} });
  made.window = new Window(made.plans);
  made.state = { group: -1, hover: -1, slot: -1 };
  made.choose = (plan, slot, group) => {
    chosen.push([plan, slot, group]);
    Object.assign(made.state, { slot, group });
  };
  const press = (key, more = {}) => {
    const event = { key, target: { tagName: "SECTION" }, getModifierState: () => key === "F", ...more };
    made.key({ ...event, preventDefault() {} });
  };
  return { made, chosen, press };
}

test("Enter chooses what lies at the cursor, one after another", () => {
  const { made, chosen, press } = sheet();
  Object.assign(made.plans.one[1], {
    stay_group: [0, 2, 1],
    stay_offset: [16, 40, 30],
    stay_start: [1, 1, 3],
    stay_end: [4, 4, 4],
  });
  press("Enter");
  assert.deepEqual(chosen.pop(), [0, 0, 0], "without a cursor at the first slot");
  press("Enter");
  assert.deepEqual(chosen.pop(), [0, 0, 0], "the only one");
  press("ArrowRight");
  for (let times = 0; times < 3; times++) press("Enter");
  assert.deepEqual(chosen.splice(0), [
    [1, 1, 2],
    [0, 1, 0],
    [1, 1, 2],
  ]);
  press("Enter", { target: { tagName: "BUTTON" } });
  made.plans.one = [made.plans.one[0]];
  Object.assign(made.state, { slot: 3, group: -1 });
  press("Enter");
  assert.deepEqual(chosen, [], "nothing lies there, and buttons are pressed");
});

test("the cursor is read out where keys move it, not where the pointer does", () => {
  const { made, press } = sheet();
  press("ArrowRight");
  assert.equal(made.status.ariaLive, "polite");
  made.pick = () => [1, 0];
  made.point({ plan: {} }, {});
  assert.equal(made.status.ariaLive, "off");
});

test("keys mean the same with Caps Lock", () => {
  const { made, press } = sheet();
  made.window.zoom(0.5, 2);
  press("F");
  assert.equal(made.window.x1, made.window.last);
});
