// The program as text: one line per instruction, with what it reads and writes and from where.

const ROW = 22;

class Listing {
  constructor(map) {
    this.map = map;
    this.scroll = map.root.querySelector(".program .scroll");
    this.all = this.scroll.querySelector(".all");
    this.rows = this.scroll.querySelector(".rows");
    map.on(this.scroll, "scroll", () => this.draw());
    map.on(this.rows, "click", (e) => this.click(e));
  }

  // Shows the current slot; scrolls to it when the move has changed.
  follow(slot) {
    const { plan } = this.map;
    this.all.style.height = `${plan.numSlots * ROW}px`;
    const line = Math.min(slot, plan.numSlots - 1),
      room = this.scroll.clientHeight,
      y = line * ROW;
    if (slot !== this.slot && room && (y < this.scroll.scrollTop || y + ROW > this.scroll.scrollTop + room)) {
      this.scroll.scrollTop = y - Math.floor(room / ROW / 2) * ROW;
    }
    this.slot = slot;
    this.draw();
  }

  draw() {
    const { plan, state } = this.map,
      { scrollTop, clientHeight } = this.scroll;
    if (!plan) return;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 2);
    const end = Math.min(plan.numSlots, Math.ceil((scrollTop + clientHeight) / ROW) + 2);
    const key = [plan.id, plan.tip, first, end, this.slot, state.selected].join();
    if (key === this.key && plan === this.drawn) return;
    this.key = key;
    this.drawn = plan;
    this.rows.style.transform = `translateY(${first * ROW}px)`;
    let html = "";
    for (let slot = first; slot < end; slot++) html += this.line(slot);
    this.rows.innerHTML = html;
  }

  line(slot) {
    const { plan, state } = this.map,
      results = [],
      operands = [];
    let isTouching = false;
    for (let a = plan.slot_access[slot]; a < plan.slot_access[slot + 1]; a++) {
      const value = plan.access_value[a],
        group = plan.value_group[value];
      isTouching ||= group === state.selected;
      (plan.access_role[a] < 0 ? results : operands).push(this.chip(slot, value, group));
    }
    const classes = ["row", slot === this.slot ? "current" : "", isTouching ? "touching" : ""].join(" ");
    const arrow = operands.length ? ` <i>←</i> ${operands.join(" ")}` : "";
    return (
      `<div class="${classes}" data-slot="${slot}" title="${escapeText(plan.op_names[slot])}"><span class="slot">${slot}</span>` +
      `<b>${escapeText(plan.instruction_names[slot])}</b><span class="op">${escapeText(plan.opcodes[plan.slot_opcode[slot]])}</span>` +
      `<span class="chips">${results.join(" ")}${arrow}</span><span class="source">${escapeText(plan.op_names[slot])}</span></div>`
    );
  }

  chip(slot, value, group) {
    const { plan, state } = this.map,
      move = plan.moveOf(slot, group);
    const action = move === NONE ? DROP : plan.move_action[move];
    const place = isFast(action) ? "fast" : action === UNDECIDED ? "open" : "slow";
    const name = plan.value_names[value],
      shape = plan.value_shapes[value];
    const [worth, more] = move === NONE ? [0, 0] : [plan.move_worth[move], plan.move_more[move]];
    const mark = plan.isMuch(more) ? "<sup>?</sup>" : "";
    const saves = more > 0 ? `; saves ${timeText(worth)}${unobservedText(worth, more)}` : "";
    const title = `${name} ${shape}, ${sizeText(plan.group_bytes[group])}: ${PLACES[place]}${saves}`;
    return (
      `<button class="chip ${place}${group === state.selected ? " selected" : ""}" data-group="${group}" title="${escapeText(title)}" tabindex="-1">` +
      `${escapeText(name)} <small>${escapeText(shape)}</small>${mark}</button>`
    );
  }

  click(event) {
    const chip = event.target.closest(".chip"),
      row = event.target.closest(".row"),
      { map } = this;
    if (!row) return;
    const slot = Number(row.dataset.slot),
      group = chip ? Number(chip.dataset.group) : NONE;
    const move = chip ? map.plan.moveOf(slot, group) : NONE;
    if (chip) map.select(group === map.state.selected ? NONE : group);
    map.go(move === NONE ? map.plan.moveAt(slot) : move);
  }
}

// Scrolls `box` alone; scrollIntoView would move the page as well.
function keepInSight(box, item) {
  if (!item) return;
  const outer = box.getBoundingClientRect(),
    inner = item.getBoundingClientRect();
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom;
}

const PLACES = { fast: "served from fast memory", slow: "served from slow memory", open: "not decided yet" };
