// A stored message: the packed columns of one program and one plan (board.py).

const NONE = -1,
  UNDECIDED = 5,
  PICO = 1e-12,
  KEPT_VERSIONS = 8;

// TABLES (schema.py): of each table that a variation changes, its columns, each with its unit.

// What a saving makes an instruction shorter that is `spare` above its floor, as engine/program/floors.py.
function aboveFloor(saving, spare) {
  if (saving >= 0) return Math.max(Math.min(saving, spare), 0);
  return saving - Math.max(saving - spare, 0) + Math.max(-spare, 0);
}

// `[M]`: seconds that each move of this line saves, at an instruction with a floor what those before it left.
function savingsOf(plan) {
  const savings = new Float64Array(plan.numMoves);
  for (let m = 0, slot = NONE, spare = 0; m < plan.numMoves; m++) {
    if (plan.move_time[m] !== slot) {
      slot = plan.move_time[m];
      spare = plan.slot_spare[slot];
    }
    if (!isFast(plan.move_action[m])) continue;
    savings[m] = aboveFloor(plan.move_saving[m], spare);
    spare -= plan.move_saving[m];
  }
  return savings;
}

class PlanData {
  constructor(header, columns) {
    Object.assign(this, header, columns);
    this.numSlots = this.slot_fast.length;
    this.numMoves = this.move_time.length;
    this.numStays = this.stay_group.length;
    this.tip = this.numMoves;
    this.version = 0;
  }

  // The last move that can be looked at: the first undecided one, if there is any.
  get lastMove() {
    return Math.max(0, Math.min(this.numMoves - 1, this.tip));
  }

  // A variation in progress, put together from the version that `draft` is about.
  withDraft(draft) {
    if (!draft) return this;
    this.versions ??= new Map([[0, this]]);
    if (draft.number === 0) this.tip = draft.tip;
    if (!this.versions.has(draft.number)) {
      // A version that this browser has lost: the view tells Python, which sends what it needs.
      if (!this.versions.has(draft.on)) return this;
      this.versions.set(draft.number, this.versions.get(draft.on).changedBy(draft));
      for (const old of [...this.versions.keys()].slice(1, -KEPT_VERSIONS)) this.versions.delete(old);
    }
    return this.versions.get(draft.number);
  }

  // Rows of `draft` (draft.py) take the place of held ones.
  changedBy(draft) {
    const changed = new PlanData(this, this);
    changed.version = draft.number;
    changed.curveCache = null;
    changed.tip = draft.tip;
    for (const [table, columns] of Object.entries(TABLES)) changed.exchange(columns, ...draft[table]);
    changed.numStays = changed.stay_group.length;
    changed.exchangeSlots(draft.slots);
    changed.countUsed();
    changed.move_action = this.move_action.slice();
    for (const [move, action] of draft.actions) changed.move_action[move] = action;
    changed.move_action.fill(UNDECIDED, draft.tip);
    return changed;
  }

  exchange(columns, gone, rows) {
    if (!gone.length && !rows.length) return;
    const left = new Set(gone),
      kept = [];
    const count = this[columns[0][0]].length;
    for (let i = 0; i < count; i++) if (!left.has(i)) kept.push(i);
    columns.forEach(([name, scale], c) => {
      const old = this[name],
        column = new old.constructor(kept.length + rows.length);
      kept.forEach((i, k) => {
        column[k] = old[i];
      });
      rows.forEach((row, r) => {
        column[kept.length + r] = row[c] * scale;
      });
      this[name] = column;
    });
  }

  exchangeSlots(slots) {
    if (!slots.length) return;
    this.slot_slow = this.slot_slow.slice();
    this.slot_stall = this.slot_stall.slice();
    for (const [slot, slow, stall] of slots) {
      this.slot_slow[slot] = slow * PICO;
      this.slot_stall[slot] = stall * PICO;
    }
    this.slot_begin = new Float64Array(this.numSlots + 1);
    for (let k = 0; k < this.numSlots; k++) {
      this.slot_begin[k + 1] = this.slot_begin[k] + this.slot_fast[k] + this.slot_slow[k] + this.slot_stall[k];
    }
  }

  countUsed() {
    const change = new Float64Array(this.numSlots + 1);
    for (let i = 0; i < this.numStays; i++) {
      const size = this.group_granules[this.stay_group[i]];
      change[Math.max(0, this.stay_start[i])] += size;
      change[this.stay_end[i]] -= size;
    }
    this.slot_used = new Float64Array(this.numSlots);
    for (let k = 0, used = 0; k < this.numSlots; k++) {
      used += change[k];
      this.slot_used[k] = used + this.slot_reserved[k];
    }
  }

  stayOf(move) {
    const group = this.move_group[move],
      time = this.move_time[move];
    for (let i = 0; i < this.numStays; i++) {
      if (this.stay_group[i] === group && this.stay_start[i] <= time && time < this.stay_end[i]) return i;
    }
    return NONE;
  }

  stayAt(time, granule) {
    for (let i = this.numStays - 1; i >= 0; i--) {
      const low = this.stay_offset[i];
      if (
        this.stay_start[i] <= time &&
        time < this.stay_end[i] &&
        low <= granule &&
        granule < low + this.group_granules[this.stay_group[i]]
      )
        return i;
    }
    return NONE;
  }

  // First move at or after slot `time`; the last move if there is none.
  moveAt(time) {
    let low = 0,
      high = this.numMoves - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.move_time[middle] < time) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low);
  }

  // The move about a group at a slot; NONE if there is none.
  moveOf(slot, group) {
    for (let m = this.moveAt(slot); m < this.numMoves && this.move_time[m] === slot; m++) {
      if (this.move_group[m] === group) return m;
    }
    return NONE;
  }

  // Whether seconds are at least a thousandth of all at stake.
  isMuch(seconds) {
    this.least ??= this.move_worth.reduce((sum, worth) => sum + worth, 0) / 1000;
    return this.least > 0 && seconds >= this.least;
  }

  // The next move that matters: slow memory costs there much of what is at stake.
  mattering(move, step) {
    for (let m = move + step; m >= 0 && m < this.numMoves; m += step) {
      if (this.isMuch(this.move_worth[m])) return m;
    }
    return move;
  }

  neighbour(move, step) {
    const group = this.move_group[move];
    for (let m = move + step; m >= 0 && m < this.numMoves; m += step) {
      if (this.move_group[m] === group) return m;
    }
    return move;
  }
}
