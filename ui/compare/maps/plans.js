// What the store holds: packed columns of one program and several plans (ui/model/compare/sheet.py).

const NOBODY = -1;
const SAME = 0,
  MOVED = 1,
  ONLY_HERE = 3;

class Plans {
  constructor(bytes) {
    const [facts, columns] = unpack(bytes);
    Object.assign(this, facts);
    this.one = facts.plans.map(() => ({}));
    for (const [name, column] of Object.entries(columns)) {
      const [, number, field] = name.match(/^p(\d)_(.*)$/) ?? [];
      if (field) this.one[number][field] = column;
      else this[name] = column;
    }
    for (const [number, plan] of facts.plans.entries()) Object.assign(this.one[number], plan);
    this.numSlots = this.slot_reserved.length;
  }

  // The longest run: all panels share one axis of seconds.
  get seconds() {
    return Math.max(...this.one.map((plan) => plan.slot_begin[this.numSlots]));
  }

  stayAt(number, slot, granule) {
    const plan = this.one[number];
    for (let i = 0; i < plan.stay_group.length; i++) {
      const low = plan.stay_offset[i];
      if (
        plan.stay_start[i] <= slot &&
        slot < plan.stay_end[i] &&
        low <= granule &&
        granule < low + this.group_granules[plan.stay_group[i]]
      )
        return i;
    }
    return NOBODY;
  }

  // What lies in fast memory at a slot: groups, each with the first plan that has it there.
  standing(slot) {
    const found = new Map();
    for (const [number, plan] of this.one.entries()) {
      for (let i = 0; i < plan.stay_group.length; i++) {
        const group = plan.stay_group[i];
        if (plan.stay_start[i] <= slot && slot < plan.stay_end[i] && !found.has(group)) found.set(group, number);
      }
    }
    return [...found];
  }

  // Where the group is at a slot in each plan, in words.
  places(group, slot) {
    return this.one.map((plan) => {
      for (let i = 0; i < plan.stay_group.length; i++) {
        if (plan.stay_group[i] === group && plan.stay_start[i] <= slot && slot < plan.stay_end[i]) {
          const start = plan.stay_start[i] < 0 ? "the previous run" : plan.stay_start[i];
          return `0x${(plan.stay_offset[i] * this.granule).toString(16)}, ${start} to ${plan.stay_end[i]}`;
        }
      }
      return "slow memory";
    });
  }
}

// The window that all panels share. `unit` is "slots" or "seconds".
class Window {
  constructor(plans) {
    this.unit = "slots";
    this.load(plans);
  }

  load(plans) {
    this.plans = plans;
    this.fit();
  }

  get total() {
    return this.unit === "slots" ? this.plans.numSlots : this.plans.seconds;
  }
  get first() {
    return -0.01 * this.total;
  }
  get last() {
    return 1.005 * this.total;
  }
  get top() {
    return this.plans.fast_granules * 1.01;
  }

  fit() {
    [this.x0, this.x1, this.y0, this.y1] = [this.first, this.last, 0, this.top];
  }

  get text() {
    return [this.unit, ...[this.x0, this.x1, this.y0, this.y1].map((v) => v.toPrecision(5))].join(",");
  }

  // The inverse of `text`; nonsense leaves the window as it is.
  take(text) {
    const [unit, ...texts] = text.split(","),
      edges = texts.map(Number),
      [x0, x1, y0, y1] = edges;
    if (!["slots", "seconds"].includes(unit) || edges.length !== 4 || !edges.every(Number.isFinite)) return;
    if (!(x0 < x1 && y0 < y1)) return;
    Object.assign(this, { unit, x0, x1, y0, y1 });
    this.clamp();
  }

  unitOf(number, slot) {
    if (slot < 0) return this.first;
    return this.unit === "slots" ? slot : this.plans.one[number].slot_begin[Math.min(slot, this.plans.numSlots)];
  }

  slotOf(number, unit) {
    if (unit < 0) return -1;
    if (this.unit === "slots") return Math.floor(unit);
    const begin = this.plans.one[number].slot_begin;
    let low = 0,
      high = this.plans.numSlots;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (begin[middle] <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  setUnit(unit) {
    const edges = [this.slotOf(0, this.x0), Math.min(this.plans.numSlots, this.slotOf(0, this.x1) + 1)];
    const isWhole = this.x0 <= this.first && this.x1 >= this.last;
    this.unit = unit;
    if (isWhole) [this.x0, this.x1] = [this.first, this.last];
    else [this.x0, this.x1] = edges.map((slot) => this.unitOf(0, slot));
    this.clamp();
  }

  zoom(factor, unit) {
    this.x0 = unit - (unit - this.x0) * factor;
    this.x1 = unit + (this.x1 - unit) * factor;
    this.clamp();
  }

  zoomAddress(factor, granule) {
    this.y0 = granule - (granule - this.y0) * factor;
    this.y1 = granule + (this.y1 - granule) * factor;
    this.clamp();
  }

  pan(units, granules) {
    this.x0 += units;
    this.x1 += units;
    this.y0 += granules;
    this.y1 += granules;
    this.clamp();
  }

  clamp() {
    const least = this.unit === "slots" ? 4 : this.total * 1e-5;
    [this.x0, this.x1] = inside(this.x0, this.x1, this.first, this.last, least);
    [this.y0, this.y1] = inside(this.y0, this.y1, 0, this.top, 8);
  }
}

function inside(low, high, first, last, least) {
  const size = Math.min(last - first, Math.max(least, high - low)),
    middle = (low + high) / 2;
  low = Math.min(Math.max(first, middle - size / 2), last - size);
  return [low, low + size];
}
