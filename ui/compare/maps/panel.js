// One plan on its canvas: address up, time across, and under it where the time goes.

const EDGE = 56,
  STRIP = 30,
  HEAD = 4;

class Panel {
  constructor(element, number) {
    this.element = element;
    this.number = number;
    this.canvas = element.querySelector("canvas");
    this.title = element.querySelector("h4");
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    [this.width, this.height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.bottom = this.height - STRIP - 6;
    this.plotWidth = this.width - EDGE - 6;
  }

  x(unit) {
    return EDGE + ((unit - this.view.x0) / (this.view.x1 - this.view.x0)) * this.plotWidth;
  }
  xOf(slot) {
    return this.x(this.view.unitOf(this.number, slot));
  }
  yOf(granule) {
    return this.bottom - ((granule - this.view.y0) / (this.view.y1 - this.view.y0)) * (this.bottom - HEAD);
  }
  unitAt(x) {
    return this.view.x0 + ((x - EDGE) / this.plotWidth) * (this.view.x1 - this.view.x0);
  }
  slotAt(x) {
    return this.view.slotOf(this.number, this.unitAt(x));
  }
  granuleAt(y) {
    return this.view.y0 + ((this.bottom - y) / (this.bottom - HEAD)) * (this.view.y1 - this.view.y0);
  }

  draw(plans, view, look, state) {
    Object.assign(this, { plans, view, look, plan: plans.one[this.number] });
    const { pen } = this;
    pen.clearRect(0, 0, this.width, this.height);
    this.drawAddresses();
    pen.save();
    pen.beginPath();
    pen.rect(EDGE, HEAD, this.plotWidth, this.bottom - HEAD);
    pen.clip();
    this.drawScratch();
    this.drawStays(state);
    this.drawNames(state);
    this.drawLimit();
    pen.restore();
    this.drawTimes();
    this.drawCursor(state.slot);
  }

  drawAddresses() {
    const {
      pen,
      look: { palette },
      plans,
    } = this;
    pen.fillStyle = mix(palette["secondary-background"], 0.6);
    pen.fillRect(EDGE, HEAD, this.plotWidth, this.bottom - HEAD);
    pen.font = `10.5px ${palette.font}`;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let part = 0; part <= 4; part++) {
      const granule = (plans.fast_granules * part) / 4,
        y = this.yOf(granule);
      if (y < HEAD - 1 || y > this.bottom + 1) continue;
      pen.fillStyle = mix(palette.border, 0.8);
      pen.fillRect(EDGE, Math.round(y), this.plotWidth, 1);
      pen.fillStyle = mix(palette.text, 0.65);
      pen.fillText(
        granule ? sizeText(granule * plans.granule) : "0",
        EDGE - 5,
        Math.max(HEAD + 6, Math.min(this.bottom - 5, y)),
      );
    }
  }

  drawScratch() {
    const { pen, plans } = this,
      end = Math.min(plans.numSlots, this.slotAt(this.width) + 1);
    pen.fillStyle = this.look.scratch;
    for (let k = Math.max(0, this.slotAt(EDGE)); k < end; ) {
      const height = plans.slot_reserved[k];
      let next = k + 1;
      while (next < end && plans.slot_reserved[next] === height) next++;
      if (height) {
        const x = this.xOf(k),
          top = this.yOf(height);
        pen.fillRect(x, top, Math.max(1, this.xOf(next) - x), this.bottom - top);
      }
      k = next;
    }
  }

  box(i) {
    const { plan, plans } = this,
      low = plan.stay_offset[i],
      high = low + plans.group_granules[plan.stay_group[i]];
    const x = this.xOf(plan.stay_start[i]),
      right = this.xOf(plan.stay_end[i]);
    if (right < EDGE || x > this.width || high < this.view.y0 || low > this.view.y1) return null;
    const y = this.yOf(high);
    return [x, y, Math.max(1, right - x), Math.max(1, this.yOf(low) - y)];
  }

  drawStays(state) {
    const {
      pen,
      plan,
      plans,
      look: { palette },
    } = this;
    const chosen = state.hover >= 0 ? state.hover : state.group;
    for (let i = 0; i < plan.stay_group.length; i++) {
      const rect = this.box(i);
      if (!rect) continue;
      const group = plan.stay_group[i],
        isChosen = group === chosen;
      const hue = palette.kinds[plan.stay_start[i] < 0 ? 3 : plans.group_kind[group]];
      pen.fillStyle = isChosen ? hue : this.shade(hue, state.isDiff ? plan.stay_mark[i] : NOBODY, chosen >= 0);
      const [x, y, width, height] = rect;
      pen.fillRect(x, y, width > 4 ? width - 1 : width, height > 3 ? height - 0.8 : height);
      if (isChosen || (state.isDiff && plan.stay_mark[i] === ONLY_HERE && height > 3)) {
        pen.strokeStyle = palette.text;
        pen.lineWidth = isChosen ? 2 : 1;
        pen.strokeRect(x, y, width, height);
      }
    }
  }

  // Names where there is room, on tensors that are not faded.
  drawNames(state) {
    const {
      pen,
      plan,
      plans,
      look: { palette },
    } = this;
    pen.font = `600 10.5px ${palette.font}`;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    for (let i = 0; i < plan.stay_group.length; i++) {
      const rect = this.box(i),
        mark = plan.stay_mark[i];
      if (!rect || rect[2] < 44 || rect[3] < 14 || (state.isDiff && (mark === SAME || mark === MOVED))) continue;
      const left = Math.max(EDGE, rect[0]) + 5,
        room = Math.min(this.width - 6, rect[0] + rect[2]) - left - 4;
      const name = plans.group_names[plan.stay_group[i]],
        letters = Math.floor(room / 6.2);
      if (letters < 4) continue;
      const middle = (Math.max(HEAD, rect[1]) + Math.min(this.bottom, rect[1] + rect[3])) / 2;
      writeOn(pen, palette, name.length > letters ? `${name.slice(0, letters - 1)}…` : name, left, middle);
    }
  }

  // In a diff what both plans do fades to grey, and what only moved is pale.
  shade(hue, mark, isOther) {
    const { palette } = this.look,
      share = isOther ? 0.5 : 1;
    if (mark === SAME) return mix(palette.gray, 0.16 * share);
    if (mark === MOVED) return mix(hue, 0.34 * share);
    return mix(hue, share);
  }

  drawLimit() {
    this.pen.fillStyle = this.look.palette.text;
    this.pen.fillRect(EDGE, Math.round(this.yOf(this.plans.fast_granules)), this.plotWidth, 1);
  }

  // Per instruction: compute, slow accesses and stalls; where slots are narrow the tallest wins.
  drawTimes() {
    const {
        pen,
        plan,
        plans,
        look: { palette },
      } = this,
      top = this.bottom + 5;
    pen.fillStyle = mix(palette["secondary-background"], 0.8);
    pen.fillRect(EDGE, top, this.plotWidth, STRIP);
    const parts = [
      [plans.slot_fast, mix(palette.gray, 0.75)],
      [plan.slot_slow, palette.orange],
      [plan.slot_stall, palette.red],
    ];
    const first = Math.max(0, this.slotAt(EDGE)),
      end = Math.min(plans.numSlots, this.slotAt(this.width) + 1);
    const total = (k) => plans.slot_fast[k] + plan.slot_slow[k] + plan.slot_stall[k];
    const tallest = new Map();
    for (let k = first; k < end; k++) {
      const pixel = Math.floor(this.xOf(k)),
        known = tallest.get(pixel);
      if (known === undefined || total(k) > total(known)) tallest.set(pixel, k);
    }
    for (const [pixel, k] of tallest) {
      const width = Math.max(
        1,
        Math.min(this.width - 6, this.xOf(k + 1)) - pixel - (this.xOf(k + 1) - pixel > 3 ? 1 : 0),
      );
      let y = top + STRIP;
      for (const [values, colour] of parts) {
        const tall = (values[k] / plans.peak) * (STRIP - 2);
        pen.fillStyle = colour;
        if (pixel + width > EDGE) pen.fillRect(Math.max(EDGE, pixel), y - tall, width, tall);
        y -= tall;
      }
    }
    pen.fillStyle = mix(palette.text, 0.65);
    pen.textAlign = "right";
    pen.textBaseline = "top";
    pen.fillText(timeText(plans.peak), EDGE - 5, top);
  }

  drawCursor(slot) {
    if (slot < 0) return;
    const x = this.xOf(slot),
      width = Math.max(1.5, this.xOf(slot + 1) - x);
    if (x + width < EDGE || x > this.width) return;
    const left = Math.max(EDGE, x);
    this.pen.fillStyle = mix(this.look.palette.primary, width > 3 ? 0.22 : 0.9);
    this.pen.fillRect(left, HEAD, x + width - left, this.height - HEAD);
  }
}
