// Mouse, wheel and keyboard of a MapView.

const KEYS = {
  ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play",
  "+": "in", "=": "in", "-": "out", f: "fit",
};

MapView.prototype.listen = function () {
  const on = (target, event, handler, options) => {
    target.addEventListener(event, handler, options);
    this.cleanups.push(() => target.removeEventListener(event, handler, options));
  };
  const { top, root } = this;
  on(top, "wheel", (e) => this.wheel(e), { passive: false });
  on(top, "pointerdown", (e) => this.press(e));
  on(top, "pointermove", (e) => (this.drag ? this.pull(e) : this.hoverOver(e)));
  on(top, "pointerup", (e) => this.release(e));
  on(top, "pointerleave", () => { this.hide(); this.drawTopOnly(); });
  on(top, "dblclick", (e) => this.enlarge(e));
  on(document, "keydown", (e) => this.key(e));
  on(this.counter, "keydown", (e) => { if (e.key === "Enter") this.go(Number(this.counter.value) - 1); e.stopPropagation(); });
  on(root, "click", (e) => {
    const { do: name, colour, axis } = e.target.dataset ?? {};
    if (name) this.act(name);
    if (colour) { this.colour = colour; this.refresh(); }
    if (axis) { this.axes.setMode(axis); this.refresh(); }
  });
  const observer = new ResizeObserver(() => { if (this.plan) { this.fitCanvases(); this.draw(); } });
  observer.observe(this.stage);
  this.cleanups.push(() => observer.disconnect());
};

// Keys belong to the map unless somebody is typing or working another control.
MapView.prototype.key = function (event) {
  const path = event.composedPath(), target = path[0];
  const isInside = path.includes(this.root);
  const isOther = target instanceof Element && !isInside
    && target.closest('input, textarea, select, [contenteditable="true"], [role="slider"], [role="listbox"], [role="combobox"], [role="radiogroup"], [role="tab"], [role="grid"], button');
  if (isOther || event.ctrlKey || event.metaKey || event.altKey || !this.plan || !this.root.isConnected) return;
  if (event.key === " " && target.tagName === "BUTTON") return;
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step && event.shiftKey) this.go(this.state.move + 10 * step);
  else if (event.key in KEYS) this.act(KEYS[event.key]);
  else if (event.key === "ArrowUp") this.go(this.plan.neighbour(this.state.move, -1));
  else if (event.key === "ArrowDown") this.go(this.plan.neighbour(this.state.move, 1));
  else if (event.key === "Escape" && this.state.selected !== NONE) this.select(NONE);
  else return;
  event.preventDefault();
};

MapView.prototype.pointOf = function (event) {
  const bounds = this.top.getBoundingClientRect();
  return [event.clientX - bounds.left, event.clientY - bounds.top];
};

MapView.prototype.zoneOf = function (x, y) {
  const { axes } = this;
  if (y >= axes.mini.top) return "mini";
  if (y < axes.top) return "ruler";
  if (y >= axes.times - GAP / 2) return "strip";
  return x < LEFT ? "addresses" : "map";
};

MapView.prototype.wheel = function (event) {
  event.preventDefault();
  const [x, y] = this.pointOf(event), factor = Math.exp(Math.max(-80, Math.min(80, event.deltaY)) * 0.0035);
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) this.axes.pan(-event.deltaX, 0);
  else if (event.shiftKey || this.zoneOf(x, y) === "addresses") {
    this.axes.zoomAddress(Math.exp((event.deltaY || event.deltaX) * 0.0035), y);
  } else this.axes.zoomTime(factor, x);
  this.hide();
  this.draw();
};

MapView.prototype.press = function (event) {
  const [x, y] = this.pointOf(event);
  this.root.focus({ preventScroll: true });
  this.top.setPointerCapture(event.pointerId);
  this.drag = { x, y, zone: this.zoneOf(x, y), hasMoved: false };
  if (this.drag.zone !== "map" && this.drag.zone !== "addresses") this.pull(event);
};

MapView.prototype.pull = function (event) {
  const [x, y] = this.pointOf(event), { drag, axes } = this;
  if (drag.zone === "ruler" || drag.zone === "strip") {
    this.go(this.plan.moveAt(axes.slotAt(Math.max(LEFT, x))));
    return;
  }
  if (drag.zone === "mini") {
    axes.centreUnit(axes.first + (x - LEFT) / axes.plotWidth * (axes.last - axes.first));
  } else {
    if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    axes.pan(x - drag.x, y - drag.y);
    Object.assign(drag, { x, y, hasMoved: true });
    this.top.classList.add("dragging");
  }
  this.hide();
  this.draw();
};

MapView.prototype.release = function (event) {
  const { drag } = this;
  this.drag = null;
  this.top.classList.remove("dragging");
  if (!drag || drag.hasMoved || drag.zone !== "map") return;
  const stay = this.pick(event);
  this.select(stay === NONE ? NONE : this.plan.stay_group[stay]);
};

MapView.prototype.pick = function (event) {
  const [x, y] = this.pointOf(event), { axes } = this;
  return this.zoneOf(x, y) === "map" ? this.plan.stayAt(axes.slotAt(x), axes.granuleAt(y)) : NONE;
};

MapView.prototype.enlarge = function (event) {
  const i = this.pick(event), { plan } = this;
  if (i === NONE) return;
  const low = plan.stay_offset[i];
  this.axes.show(plan.stay_start[i], plan.stay_end[i], low, low + plan.group_granules[plan.stay_group[i]]);
  this.draw();
};

MapView.prototype.hoverOver = function (event) {
  const [x, y] = this.pointOf(event), { axes, plan, card } = this;
  const stay = this.pick(event), zone = this.zoneOf(x, y), slot = axes.slotAt(x);
  this.state.hover = stay;
  this.top.classList.toggle("over", stay !== NONE);
  const isStrip = zone === "strip" && x >= LEFT && slot >= 0 && slot < plan.numSlots;
  card.hidden = stay === NONE && !isStrip;
  if (!card.hidden) {
    card.innerHTML = stay !== NONE ? stayCard(plan, stay) : slotCard(plan, slot);
    const room = axes.width - x > card.offsetWidth + 24;
    card.style.left = `${room ? x + 14 : Math.max(4, x - card.offsetWidth - 14)}px`;
    card.style.top = `${Math.max(4, Math.min(y + 14, axes.height - card.offsetHeight - 6))}px`;
  }
  this.drawTopOnly();
};
