// The keyboard, and what the help says of it.

const HELP = [
  [", .", "one move back or on"],
  ["Home End", "first and last move"],
  ["s", "next surprising move (Shift: back)"],
  ["j k", "next, previous move that matters"],
  ["↓ ↑", "into the tree, back to the parent"],
  ["← →", "sibling"],
  ["Enter", "zoom to the selected node"],
  ["Esc", "clear the selection, then the whole tree"],
  ["[ ]", "one simulation fewer, more (Shift: a tenth)"],
  ["Space", "play or pause: the tree grows from nothing"],
  ["u", "to the last flip"],
  ["m", "roll the film"],
  ["f", "zoom out: the whole tree"],
  ["o", "open the line in Play"],
  ["h", "other colours"],
  ["v", "the other curve"],
  ["b", "two searches side by side"],
  ["x", "the other search"],
  ["?", "these keys"],
];

function listenToKeys(view) {
  const { root } = view;
  const bounded = (pane, by) => pane.setCount(pane.count + by);
  const tenth = () => Math.max(1, Math.round(view.pane.tree.last / 10));
  const acts = {
    ",": () => view.act("back"),
    ".": () => view.act("next"),
    Home: () => view.act("first"),
    End: () => view.act("last"),
    s: () => view.surprise(1),
    S: () => view.surprise(-1),
    j: () => view.finding(1),
    k: () => view.finding(-1),
    ArrowDown: () => view.pane.walk("down"),
    ArrowUp: () => view.pane.walk("up"),
    ArrowLeft: () => view.pane.walk("left"),
    ArrowRight: () => view.pane.walk("right"),
    Enter: () => view.pane.zoomTo(view.pane.state.selected),
    Escape: () => stepBack(view),
    "[": () => bounded(view.pane, -1),
    "]": () => bounded(view.pane, 1),
    "{": () => bounded(view.pane, -tenth()),
    "}": () => bounded(view.pane, tenth()),
    " ": () => view.pane.run(),
    m: () => view.playFilm(),
    f: () => view.pane.zoomTo(0),
    o: () => view.openLine(),
    b: () => view.act("both"),
    u: () => {
      const { flips } = view.pane.tree;
      if (flips.length) view.pane.setCount(flips.at(-1));
    },
    h: () => {
      const names = Object.keys(COLOURS);
      view.colour(names[(names.indexOf(view.paint) + 1) % names.length]);
    },
    v: () => view.curveMode(view.curve.mode === "total" ? "lead" : "total"),
    x: () => view.activate(view.isBoth ? 1 - view.active : 0),
    "?": () => view.help(),
  };
  view.on(root, "keydown", (event) => {
    if (isForBrowser(event) || !view.board || view.answersHelp(event)) return;
    const tag = event.target.tagName,
      isField = tag === "SELECT" || (tag === "INPUT" && event.target.type !== "range");
    if (isField && event.key !== "Escape") return;
    if (tag === "BUTTON" && [" ", "Enter"].includes(event.key)) return;
    if (event.target.type === "range" && (event.key.startsWith("Arrow") || ["Home", "End"].includes(event.key))) return;
    if (event.key === "Enter" && tag === "TR") {
      event.target.click();
      event.preventDefault();
      return;
    }
    const along = { ArrowUp: () => view.step(-1), ArrowDown: () => view.step(1) },
      act = (event.target === view.list && along[event.key]) || acts[keyOf(event)];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
}

// Whether a key belongs to the browser or the system. Some layouts type brackets with Alt, or with
// AltGr, which is Ctrl and Alt.
function isForBrowser({ key, ctrlKey, metaKey, altKey }) {
  return metaKey || (altKey ? !/^[[\]{}]$/.test(key) : ctrlKey);
}

function stepBack(view) {
  const { pane } = view;
  if (pane.state.selected) pane.select(0);
  else pane.zoomTo(0);
}
