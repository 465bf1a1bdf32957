// The window of the map on time (slots or seconds) and address (granules), and where it is drawn.

const LEFT = 62,
  RIGHT = 8,
  RULER = 20,
  LANE = 13,
  TIMES = 44,
  CURVE = 56,
  MINI = 30,
  GAP = 7;

class Axes {
  constructor() {
    this.mode = "slots";
    this.width = this.height = 0;
  }

  load(plan) {
    this.plan = plan;
    this.fit();
  }

  resize(width, height) {
    this.width = width;
    this.height = height;
    const bottom = height - MINI - 4;
    this.mini = { top: bottom, height: MINI };
    this.curve = { top: bottom - GAP - CURVE, height: CURVE };
    this.lanes = this.curve.top - 4 - 2 * LANE;
    this.times = this.lanes - TIMES - 2;
    this.top = RULER;
    this.bottom = this.times - GAP;
    this.plotWidth = width - LEFT - RIGHT;
    this.plotHeight = this.bottom - this.top;
  }

  // The lower edge of the last strip that shares the time axis with the map.
  get end() {
    return this.curve.top + CURVE;
  }

  // Full extent of the time axis: room before 0 for what the previous run left in place.
  get first() {
    return -0.008 * this.total;
  }
  get total() {
    if (this.mode === "seconds") return this.plan.slot_begin[this.plan.numSlots] || 1;
    return Math.max(1, this.plan.numSlots);
  }
  get last() {
    return this.total * 1.004;
  }

  fit() {
    this.x0 = this.first;
    this.x1 = this.last;
    this.y0 = 0;
    this.y1 = this.plan.fast_granules * 1.015;
  }

  setMode(mode) {
    const slots = [this.slotAt(LEFT), this.slotAt(this.width - RIGHT)];
    const whole = this.isWhole;
    this.mode = mode;
    if (whole) {
      this.x0 = this.first;
      this.x1 = this.last;
      return;
    }
    this.x0 = this.timeOf(slots[0]);
    this.x1 = this.timeOf(Math.max(slots[1], slots[0] + 1));
    this.clamp();
  }

  get isWhole() {
    return this.x0 <= this.first && this.x1 >= this.last;
  }

  get isAll() {
    return this.isWhole && this.y0 <= 0 && this.y1 >= this.plan.fast_granules;
  }

  // Slot (may be fractional in slots mode) to axis units; -1 is the previous run.
  timeOf(slot) {
    if (slot < 0) return this.first;
    if (this.mode === "slots") return slot;
    return this.plan.slot_begin[Math.min(this.plan.numSlots, Math.round(slot))];
  }

  xOf(slot) {
    return LEFT + ((this.timeOf(slot) - this.x0) / (this.x1 - this.x0)) * this.plotWidth;
  }
  yOf(granule) {
    return this.bottom - ((granule - this.y0) / (this.y1 - this.y0)) * this.plotHeight;
  }
  miniX(slot) {
    return LEFT + ((this.timeOf(slot) - this.first) / (this.last - this.first)) * this.plotWidth;
  }
  unitAt(x) {
    return this.x0 + ((x - LEFT) / this.plotWidth) * (this.x1 - this.x0);
  }
  granuleAt(y) {
    return this.y0 + ((this.bottom - y) / this.plotHeight) * (this.y1 - this.y0);
  }

  slotAt(x) {
    return this.slotOfUnit(this.unitAt(x));
  }

  slotOfUnit(unit) {
    if (unit < 0) return -1;
    return this.mode === "slots" ? Math.floor(unit) : this.slotOfSecond(unit);
  }

  slotOfSecond(unit) {
    const begin = this.plan.slot_begin;
    let low = 0,
      high = this.plan.numSlots;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (begin[middle] <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // A moment of the simulated run; in slots mode it lies a share of the way through its slot.
  xOfSecond(second) {
    if (this.mode === "seconds") return LEFT + ((second - this.x0) / (this.x1 - this.x0)) * this.plotWidth;
    const slot = Math.min(this.plan.numSlots - 1, this.slotOfSecond(second));
    const begin = this.plan.slot_begin[slot],
      length = this.plan.slot_begin[slot + 1] - begin;
    return this.xOf(slot + (length > 0 ? Math.min(1, (second - begin) / length) : 0));
  }

  // The slots that the window shows, `[first, end)`.
  visible() {
    const end = Math.min(this.plan.numSlots, this.slotOfUnit(this.x1) + 1);
    return [Math.max(0, this.slotOfUnit(Math.max(0, this.x0))), end];
  }

  zoomTime(factor, x) {
    const unit = this.unitAt(x);
    this.x0 = unit - (unit - this.x0) * factor;
    this.x1 = unit + (this.x1 - unit) * factor;
    this.clamp();
  }

  zoomAddress(factor, y) {
    const granule = this.granuleAt(y);
    this.y0 = granule - (granule - this.y0) * factor;
    this.y1 = granule + (this.y1 - granule) * factor;
    this.clamp();
  }

  pan(dx, dy) {
    const time = (dx / this.plotWidth) * (this.x1 - this.x0);
    const address = (dy / this.plotHeight) * (this.y1 - this.y0);
    this.x0 -= time;
    this.x1 -= time;
    this.y0 += address;
    this.y1 += address;
    this.clamp();
  }

  centre(slot) {
    this.centreUnit(this.timeOf(slot));
  }

  centreUnit(unit) {
    const half = (this.x1 - this.x0) / 2;
    this.x0 = unit - half;
    this.x1 = unit + half;
    this.clamp();
  }

  show(start, end, low, high) {
    const margin = Math.max(1e-12, this.timeOf(end) - this.timeOf(start)) * 0.6;
    this.x0 = this.timeOf(start) - margin;
    this.x1 = this.timeOf(end) + margin;
    this.y0 = low - (high - low) * 0.8;
    this.y1 = high + (high - low) * 0.8;
    this.clamp();
  }

  // Keeps the window inside the program, at least two slots (or a millionth of the time) wide.
  clamp() {
    const least = this.mode === "slots" ? 2 : this.total * 1e-6;
    [this.x0, this.x1] = kept(this.x0, this.x1, this.first, this.last, least);
    [this.y0, this.y1] = kept(this.y0, this.y1, 0, this.plan.fast_granules * 1.015, 4);
  }
}

function kept(low, high, first, last, least) {
  const size = Math.min(last - first, Math.max(least, high - low));
  const middle = (low + high) / 2;
  low = Math.min(Math.max(first, middle - size / 2), last - size);
  return [low, low + size];
}

// Round positions: 1, 2 or 5 times a power of `base` (10 for slots and seconds, 2 for bytes);
// `least`: no finer than this.
function ticksOf(low, high, count, base, least = 0) {
  const raw = Math.max((high - low) / count, 1e-15);
  const power = base ** Math.floor(Math.log(raw) / Math.log(base));
  const step =
    base === 2
      ? power * 2
      : Math.max(
          least,
          [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw),
        );
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) ticks.push(Math.abs(t) < step / 1e6 ? 0 : t);
  return ticks;
}
