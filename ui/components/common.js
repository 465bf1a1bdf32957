// Common code of all stored views: their registry, the packed messages, event listeners.

// The registry of this view: what is stored, by its id, and the components that show it, by key.
function registry() {
  const all = (globalThis.storedViews ??= {});
  const own = (all[VIEW] ??= { shows: new Map() });
  own.kept ??= new Map();
  return own;
}

// [header, columns] of a message (packing.py).
function unpack(bytes) {
  // The bytes lie anywhere inside a larger message; typed arrays need their own aligned buffer.
  const buffer = bytes.slice().buffer;
  const length = new DataView(buffer).getUint32(0, true);
  const { columns: places, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const columns = {};
  for (const [name, [kind, offset, count]] of Object.entries(places)) {
    columns[name] = new globalThis[`${kind}Array`](buffer, 4 + length + offset, count);
  }
  return [header, columns];
}

// A view's elements under `selector`, made from the store's template, and what it has to undo.
class View {
  constructor(parent, template, style, selector) {
    parent.append(template.content.cloneNode(true), style.cloneNode(true));
    this.root = parent.querySelector(selector);
    this.cleanups = [];
  }

  on(target, event, handler, options) {
    target.addEventListener(event, handler, options);
    this.cleanups.push(() => target.removeEventListener(event, handler, options));
  }

  onResize(element, handler) {
    const observer = new ResizeObserver(handler);
    observer.observe(element);
    this.cleanups.push(() => observer.disconnect());
    this.onRatio(handler);
  }

  // A canvas is as large on a monitor of another pixel ratio, and blurred until it is drawn anew.
  onRatio(handler) {
    let query;
    const watch = () => {
      query = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
      query.addEventListener("change", changed, { once: true });
    };
    const changed = () => {
      watch();
      handler();
    };
    watch();
    this.cleanups.push(() => query.removeEventListener("change", changed));
  }

  // Opens or closes the list of keys; `keys` are pairs of keys and what they do.
  toggleHelp(keys) {
    const box = this.root.querySelector(".help");
    box.querySelector("dl").innerHTML = keys
      .map(
        ([names, text]) =>
          `<dt>${names
            .split(" ")
            .map((k) => `<kbd>${escapeText(k)}</kbd>`)
            .join(" ")}</dt><dd>${text}</dd>`,
      )
      .join("");
    box.hidden = !box.hidden;
    if (box.hidden) this.root.focus({ preventScroll: true });
    else box.querySelector("button").focus();
  }

  // Whether the list of keys is open: then it alone answers, until it is closed, and Tab stays in it.
  answersHelp(event) {
    const box = this.root.querySelector(".help"),
      { key } = event;
    if (box.hidden) return false;
    if (key === "Escape" || key === "?") this.help();
    if (key === "Tab") box.querySelector("button").focus();
    if (["Escape", "?", "Tab"].includes(key)) event.preventDefault();
    event.stopImmediatePropagation();
    return true;
  }

  destroy() {
    for (const undo of this.cleanups) undo();
  }
}

// The key of an event, as Caps Lock off would have it.
function keyOf(event) {
  const { key, shiftKey } = event;
  if (key.length > 1 || !event.getModifierState("CapsLock")) return key;
  return shiftKey ? key.toUpperCase() : key.toLowerCase();
}

// The wheel zooms a canvas with Ctrl, or once it was clicked and until the pointer leaves it: else
// somebody who scrolls the page would be caught by it. Returns whether an event is for the canvas.
function wheelGuard(canvas) {
  let isClicked = false;
  canvas.addEventListener("pointerdown", () => {
    isClicked = true;
  });
  canvas.addEventListener("pointerleave", () => {
    isClicked = false;
  });
  return (event) => {
    const isMine = isClicked || event.ctrlKey || event.metaKey;
    if (isMine) event.preventDefault();
    return isMine;
  };
}

// What one pointer does on a canvas with its main button: it clicks where it was let go without a
// pull, and hovers when it is up. What the browser breaks off is over, and no click; a finger that
// goes up or down scrolls the page (`touch-action: pan-y`).
function onPointer(canvas, { pull, click, hover = () => {} }) {
  let press = null;
  canvas.addEventListener("pointerdown", (e) => {
    if (press || e.button) return;
    canvas.setPointerCapture(e.pointerId);
    press = { id: e.pointerId, x: e.offsetX, y: e.offsetY, isFar: false };
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!press) hover(e);
    if (press?.id !== e.pointerId) return;
    const [dx, dy] = [e.offsetX - press.x, e.offsetY - press.y];
    if (!press.isFar && Math.hypot(dx, dy) < 4) return;
    if (!press.isFar && e.pointerType === "touch" && Math.abs(dy) > Math.abs(dx)) {
      press = null;
      return;
    }
    Object.assign(press, { x: e.offsetX, y: e.offsetY, isFar: true });
    pull(e, dx, dy);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (press?.id === e.pointerId && !press.isFar && !e.button) click(e);
  });
  canvas.addEventListener("lostpointercapture", (e) => {
    if (press?.id === e.pointerId) press = null;
  });
}

const WHEEL_HINT = "Ctrl and the wheel zoom, or click first";

// Without a secure address there is no clipboard, and the browser may refuse it.
function copyText(text, done, failed) {
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, failed);
  else failed();
}

function saveAs(href, name) {
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.download = name;
  anchor.click();
}

// Shows a view's data, or leaves it as it is until what it refers to has arrived.
function show(component) {
  const { kept, template, style } = registry(),
    root = component.parentElement;
  const stored = kept.get(STORED.idOf(component.data));
  if (!stored || !template) return;
  root.view ??= new STORED.View(root, template, style);
  root.view.update(component, stored);
}

// The store. `STORED`: `read` makes what is kept of a message, `most` of them at a time; `idOf` says
// which of them the data of a view needs; `View` is its class.
export default function ({ data, parentElement }) {
  const shared = registry(),
    { kept } = shared,
    stored = STORED.read(data);
  kept.delete(stored.id);
  kept.set(stored.id, stored);
  while (kept.size > STORED.most) kept.delete(kept.keys().next().value);
  shared.template = parentElement.querySelector("template");
  shared.style = parentElement.querySelector("style");
  shared.show = show;
  for (const shown of shared.shows.values()) show(shown);
}
