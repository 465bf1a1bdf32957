// What the store holds: the packed columns of one program and one plan (ui/viewmodel/board.py).

const NONE = -1;

function unpack(bytes) {
  // The bytes lie anywhere inside a larger message; typed arrays need their own aligned buffer.
  const buffer = bytes.slice().buffer;
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const columns = {};
  for (const [name, [kind, offset, count]] of Object.entries(header.columns)) {
    columns[name] = new globalThis[kind + "Array"](buffer, 4 + length + offset, count);
  }
  return new PlanData(header, columns);
}

class PlanData {
  constructor(header, columns) {
    Object.assign(this, header, columns);
    this.numSlots = this.slot_fast.length;
    this.numMoves = this.move_time.length;
    this.numStays = this.stay_group.length;
    this.slotPeak = 0;
    for (let k = 0; k < this.numSlots; k++) {
      this.slotPeak = Math.max(this.slotPeak, this.slot_fast[k] + this.slot_slow[k] + this.slot_stall[k]);
    }
  }

  // A plan in progress: the stays of `draft` take the place of those that the browser holds.
  withDraft(draft) {
    if (!draft) return this;
    const gone = new Set(draft.gone);
    const rows = [];
    for (let i = 0; i < this.numStays; i++) {
      if (!gone.has(i)) rows.push([this.stay_group[i], this.stay_offset[i], this.stay_start[i], this.stay_end[i], this.stay_arrival[i]]);
    }
    rows.push(...draft.stays);
    const columns = ["stay_group", "stay_offset", "stay_start", "stay_end", "stay_arrival"];
    const changed = Object.create(this);
    columns.forEach((name, c) => { changed[name] = Int32Array.from(rows, (row) => row[c]); });
    changed.numStays = rows.length;
    changed.move_action = this.move_action.slice();
    for (const [move, action] of draft.actions) changed.move_action[move] = action;
    return changed;
  }

  stayOf(move) {
    const group = this.move_group[move], time = this.move_time[move];
    for (let i = 0; i < this.numStays; i++) {
      if (this.stay_group[i] === group && this.stay_start[i] <= time && time < this.stay_end[i]) return i;
    }
    return NONE;
  }

  stayAt(time, granule) {
    for (let i = this.numStays - 1; i >= 0; i--) {
      const low = this.stay_offset[i];
      if (this.stay_start[i] <= time && time < this.stay_end[i] && low <= granule
        && granule < low + this.group_granules[this.stay_group[i]]) return i;
    }
    return NONE;
  }

  // First move at or after slot `time`; the last move if there is none.
  moveAt(time) {
    let low = 0, high = this.numMoves - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.move_time[middle] < time) low = middle + 1; else high = middle;
    }
    return Math.max(0, low);
  }

  neighbour(move, step) {
    const group = this.move_group[move];
    for (let m = move + step; m >= 0 && m < this.numMoves; m += step) {
      if (this.move_group[m] === group) return m;
    }
    return move;
  }
}
