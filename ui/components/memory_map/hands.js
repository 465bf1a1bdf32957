// Mouse and wheel of a MapView.

MapView.prototype.listen = function () {
  const on = this.on.bind(this),
    { top, root } = this;
  const isForMap = wheelGuard(top);
  on(
    top,
    "wheel",
    (e) => {
      if (isForMap(e)) this.wheel(e);
      else this.hintAtWheel();
    },
    { passive: false },
  );
  on(top, "pointerdown", (e) => this.grip(e));
  on(top, "pointermove", (e) => {
    if (!this.drag) this.hoverOver(e);
    else if (this.drag.pointer === e.pointerId) this.pull(e);
  });
  on(top, "pointerup", (e) => this.release(e));
  for (const name of ["pointercancel", "lostpointercapture"]) on(top, name, (e) => this.letGo(e));
  on(top, "pointerleave", () => {
    this.hide();
    this.drawTopOnly();
  });
  on(top, "dblclick", (e) => this.enlarge(this.pick(e)));
  // Before the page's own hotkeys, of which `c` is one.
  on(window, "keydown", (e) => this.key(e), { capture: true });
  on(this.counter, "keydown", (e) => {
    if (e.key === "Enter") {
      const move = moveOfText(this.counter.value);
      if (move === null) this.say("Type the number of a move");
      else this.go(move);
      root.focus({ preventScroll: true });
      this.drawTopOnly();
    }
  });
  on(root, "click", (e) => this.click(e));
  on(root, "change", (e) => {
    if (e.target.matches(".colour")) {
      this.colour = e.target.value;
      this.refresh();
    }
    if (e.target.matches("select")) root.focus({ preventScroll: true });
  });
  // The panel beside the map is plain HTML; its buttons speak through the map.
  on(document, "click", (e) => {
    const button = e.target instanceof Element && e.target.closest(ORDERS);
    // The second click of a double click was not meant for what stands there by then.
    if (button && e.detail <= 1) this.orderOf(button);
  });
  this.onResize(this.stage, () => {
    if (this.plan) this.refresh();
  });
};

// The panel's terms get their texts here, so that no step has to carry them; those that are not
// inside a button can be stepped to.
MapView.prototype.explainTerms = () => {
  for (const term of document.querySelectorAll(".turn dfn:not([aria-description])")) {
    const text = meaningOf(term.textContent);
    if (text) term.setAttribute("aria-description", text);
    if (!term.closest("button")) term.tabIndex = 0;
  }
};

MapView.prototype.click = function (event) {
  const button = event.target.closest("button");
  if (!button) return;
  const { go, axis, curve } = button.dataset;
  if (go) this.act(go);
  if (axis) {
    this.axes.setMode(axis);
    this.refresh();
  }
  if (curve) {
    this.curve = curve;
    this.refresh();
  }
  if (button.dataset.do === "let") this.letPlay();
  else if (button.dataset.do) this.orderOf(button);
};

// The command that a button carries in its data attributes.
MapView.prototype.orderOf = function (button) {
  const { do: name, ...given } = button.dataset;
  const words = Object.entries(given).map(([key, value]) => [
    key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
    value,
  ]);
  this.command(name, Object.fromEntries(words));
};

MapView.prototype.pointOf = function (event) {
  const bounds = this.top.getBoundingClientRect();
  return [event.clientX - bounds.left, event.clientY - bounds.top];
};

MapView.prototype.zoneOf = function (x, y) {
  const { axes } = this;
  if (y >= axes.mini.top) return "mini";
  if (y >= axes.curve.top - 2) return "curve";
  if (y < axes.top) return "ruler";
  if (y >= axes.times - GAP / 2) return "strip";
  return x < LEFT ? "addresses" : "map";
};

// Says how to zoom, once per page.
MapView.prototype.hintAtWheel = function () {
  if (!registry().hasHinted) this.say(WHEEL_HINT);
  registry().hasHinted = true;
};

MapView.prototype.wheel = function (event) {
  const [x, y] = this.pointOf(event),
    factor = Math.exp(Math.max(-80, Math.min(80, event.deltaY)) * 0.0035);
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) this.axes.pan(-event.deltaX, 0);
  else if (event.shiftKey || this.zoneOf(x, y) === "addresses") {
    this.axes.zoomAddress(Math.exp((event.deltaY || event.deltaX) * 0.0035), y);
  } else this.axes.zoomTime(factor, x);
  this.hide();
  this.draw();
};

MapView.prototype.grip = function (event) {
  // One pointer drags: no other button, and no second finger.
  if (event.button !== 0 || this.drag) return;
  const [x, y] = this.pointOf(event);
  this.root.focus({ preventScroll: true });
  this.top.setPointerCapture(event.pointerId);
  const zone = this.zoneOf(x, y),
    isPicking = zone === "map" && !this.isSimple && (event.shiftKey || this.area.isOpen);
  this.drag = { pointer: event.pointerId, x, y, zone, isPicking, hasMoved: false };
  if (this.drag.zone !== "map" && this.drag.zone !== "addresses") this.pull(event);
};

MapView.prototype.pull = function (event) {
  const [x, y] = this.pointOf(event),
    { drag, axes } = this;
  if (["ruler", "strip", "curve"].includes(drag.zone)) {
    this.go(this.plan.moveAt(axes.slotAt(Math.max(LEFT, x))));
    return;
  }
  if (drag.isPicking) {
    if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    drag.hasMoved = true;
    this.area.set(this.areaOfDrag(x, y), false);
    this.hide();
    return;
  }
  if (drag.zone === "mini") {
    axes.centreUnit(axes.first + ((x - LEFT) / axes.plotWidth) * (axes.last - axes.first));
  } else {
    if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    axes.pan(x - drag.x, y - drag.y);
    Object.assign(drag, { x, y, hasMoved: true });
    this.top.classList.add("dragging");
  }
  this.hide();
  this.draw();
};

// The area between the place where the drag began and the pointer.
MapView.prototype.areaOfDrag = function (x, y) {
  const { axes, drag, plan } = this,
    slots = [drag.x, x]
      .map((at) => axes.slotAt(Math.max(LEFT, Math.min(axes.width - RIGHT, at))))
      .sort((a, b) => a - b),
    granules = [drag.y, y].map((at) => axes.granuleAt(at));
  return areaWithin(plan, slots[0], slots[1] + 1, ...granules);
};

// Ends the drag of this pointer, and returns it; null if it has none.
MapView.prototype.letGo = function (event) {
  const { drag } = this;
  if (drag?.pointer !== event.pointerId) return null;
  this.drag = null;
  this.top.classList.remove("dragging");
  if (drag.isPicking && drag.hasMoved) this.area.open(this.state.area);
  return drag;
};

MapView.prototype.release = function (event) {
  const drag = this.letGo(event);
  if (!drag || drag.hasMoved || drag.zone !== "map") return;
  const stay = this.pick(event);
  this.select(stay === NONE ? NONE : this.plan.stay_group[stay]);
};

MapView.prototype.pick = function (event) {
  const [x, y] = this.pointOf(event),
    { axes } = this;
  return this.zoneOf(x, y) === "map" ? this.plan.stayAt(axes.slotAt(x), axes.granuleAt(y)) : NONE;
};

MapView.prototype.enlarge = function (i) {
  const { plan } = this;
  if (i === NONE) return;
  const low = plan.stay_offset[i];
  this.axes.show(plan.stay_start[i], plan.stay_end[i], low, low + plan.group_granules[plan.stay_group[i]]);
  this.draw();
};

// Zooms to the stay of the selected tensor at the cursor, or to its first one.
MapView.prototype.enlargeSelected = function () {
  const { plan, slot } = this,
    { selected } = this.state;
  let stay = NONE;
  for (let i = 0; i < plan.numStays; i++) {
    if (plan.stay_group[i] !== selected) continue;
    if (stay === NONE || (plan.stay_start[i] <= slot && slot < plan.stay_end[i])) stay = i;
  }
  if (stay === NONE) this.say("Select a tensor on the map first");
  this.enlarge(stay);
};

MapView.prototype.hide = function () {
  this.pointed = null;
  this.card.hidden = true;
  this.state.hover = NONE;
  this.top.classList.remove("over");
};

MapView.prototype.hoverOver = function (event) {
  this.pointed = event;
  const [x, y] = this.pointOf(event),
    { axes, plan, card } = this;
  const stay = this.pick(event),
    zone = this.zoneOf(x, y),
    slot = axes.slotAt(x);
  this.state.hover = stay;
  this.top.classList.toggle("over", stay !== NONE);
  const isCurve = zone === "curve" && x >= LEFT && plan.numMoves > 0;
  const isStrip = zone === "strip" && x >= LEFT && slot >= 0 && slot < plan.numSlots;
  card.hidden = stay === NONE && !isStrip && !isCurve;
  if (!card.hidden) {
    card.innerHTML =
      stay !== NONE ? stayCard(plan, stay) : isCurve ? curveCard(plan, plan.moveAt(slot)) : slotCard(plan, slot);
    // At the left edge it is as wide as it likes to be.
    card.style.left = "0";
    const room = axes.width - x > card.offsetWidth + 24;
    card.style.left = `${room ? x + 14 : Math.max(4, x - card.offsetWidth - 14)}px`;
    card.style.top = `${Math.max(4, Math.min(y + 14, axes.height - card.offsetHeight - 6))}px`;
  }
  this.drawTopOnly();
};
