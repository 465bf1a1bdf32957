// The keyboard of a MapView.

const KEYS = {
  ArrowLeft: "back",
  ArrowRight: "next",
  ",": "back",
  ".": "next",
  j: "mattering",
  k: "matteringBack",
  Home: "first",
  End: "last",
  " ": "play",
  "<": "slower",
  ">": "faster",
  "+": "in",
  "=": "in",
  "-": "out",
  f: "fit",
  e: "enlarge",
  t: "axis",
  v: "curve",
  z: "undo",
  y: "redo",
  g: "let",
  "/": "find",
  a: "area",
  "?": "help",
  l: "link",
};
const CTRL_KEYS = { z: "undo", Z: "redo", y: "redo" };
const ACTION_KEYS = { 1: 0, c: 0, 2: 1, n: 1, 3: 2, d: 2 };
const OTHER_END_KEYS = { Digit1: 3, c: 3, Digit2: 4, n: 4 };
const HELP = [
  ["1 c", "play Copy"],
  ["2 n", "play NoCopy"],
  ["⇧1 ⇧2", "Copy, NoCopy at the other end (also ⇧c ⇧n)"],
  ["3 d", "play Drop"],
  ["z y", "undo, redo (also with Ctrl)"],
  ["g", "let the chosen player go on"],
  ["← →", "one move back or on; with Shift ten"],
  ["↑ ↓", "previous or next move of the same tensor"],
  [", .", "one move back or on"],
  ["j k", "next, previous move that matters"],
  ["Home End", "first and last move"],
  ["Space", "play or pause"],
  ["< >", "slower, faster"],
  ["+ - f", "zoom in, out, show everything"],
  ["e", "enlarge the selected tensor"],
  ["t", "slots or seconds across"],
  ["v", "the other curve"],
  ["/", "find a tensor or instruction"],
  ["a", "an area of the map: sums and a table (also Shift and drag)"],
  ["l", "copy a link to this view"],
  ["Esc", "clear the selection"],
  ["?", "these keys"],
];

const WORKED_BY_ARROWS =
  'input, textarea, select, [contenteditable="true"], [role="slider"], [role="listbox"], [role="combobox"], [role="radiogroup"], [role="tab"], [role="grid"]';

// Whoever is in a pane by keyboard scrolls it by these.
const SCROLLS = ".scroll:focus-visible",
  SCROLLING = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];

// The panel's buttons, of which the map gives Python the orders.
const ORDERS = ".turn [data-do]";

// What lies over the page, from inside and from outside: it has the keyboard to itself.
const OVER_THE_PAGE = '[role^="menu"], [role="dialog"]',
  HAS_OPENED = '[aria-haspopup][aria-expanded="true"]';

// Keys belong to the map unless somebody is typing or working another control; on a page where it is
// but a film, only those that are pressed on it.
MapView.prototype.key = function (event) {
  const path = event.composedPath(),
    [target] = path,
    key = keyOf(event);
  if (this.tour && !path.includes(this.root)) return;
  if (!this.plan || !this.root.isConnected || event.altKey || event.metaKey) return;
  if (target instanceof Element && target.closest(WORKED_BY_ARROWS)) return;
  if (this.answersHelp(event)) return;
  if (target instanceof Element && target.closest(OVER_THE_PAGE)) return;
  if (document.querySelector(HAS_OPENED)) return;
  if (target instanceof Element && target.closest(SCROLLS) && SCROLLING.includes(key)) return;
  if (target instanceof Element && target.closest("button, a, summary") && (key === " " || key === "Enter")) {
    if (event.repeat && target.closest(ORDERS)) event.preventDefault();
    return;
  }
  const pressed = [key, event.ctrlKey, event.shiftKey, event.code];
  // A held key orders no more than is answered, so that it ends with the hand.
  const isTooMuch = event.repeat && this.order && isOrder(...pressed);
  if (!isTooMuch && !this.answers(...pressed)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
};

// Whether the key means something here; then it has been done.
MapView.prototype.answers = function (key, isCtrl, isShift, code) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key],
    neighbour = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (isCtrl) {
    if (CTRL_KEYS[key]) this.act(CTRL_KEYS[key]);
    return Boolean(CTRL_KEYS[key]);
  }
  if (key === "Escape" && this.area.isOpen) this.area.close();
  else if (key === "Escape" && this.state.selected !== NONE) this.select(NONE);
  else if (step && isShift) this.go(this.state.move + 10 * step);
  else if (neighbour) this.go(this.plan.neighbour(this.state.move, neighbour));
  else if (actionOf(key, isShift, code) !== undefined) this.command("play", { action: actionOf(key, isShift, code) });
  else if (Object.hasOwn(KEYS, key)) this.act(KEYS[key]);
  else return false;
  return true;
};

// Whether the key orders something of Python.
function isOrder(key, isCtrl, isShift, code) {
  if (isCtrl) return Boolean(CTRL_KEYS[key]);
  return actionOf(key, isShift, code) !== undefined || ["undo", "redo", "let"].includes(KEYS[key]);
}

// The action of a key; with Shift that at the other end. Some keyboards type digits with Shift, and
// those mean what they say; on the others Shift makes another sign, so the key's place counts.
function actionOf(key, isShift, code) {
  const letter = key.toLowerCase();
  if (!isShift || /^[0-9]$/.test(key)) return ACTION_KEYS[letter];
  return OTHER_END_KEYS[letter] ?? OTHER_END_KEYS[code];
}
