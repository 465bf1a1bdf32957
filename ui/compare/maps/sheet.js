// All panels of the page: one window, one cursor, one selection.

class Sheet extends View {
  constructor(parent, template, style) {
    super(parent, template, style, ".sheet");
    this.grid = this.root.querySelector(".grid");
    this.pattern = this.grid.firstElementChild;
    this.pattern.remove();
    this.status = this.root.querySelector(".sentence");
    this.state = { group: NOBODY, hover: NOBODY, slot: NOBODY, isDiff: false };
    this.panels = [];
    this.nonce = null;
    this.on(this.root, "click", (e) => this.press(e.target.dataset ?? {}));
    this.on(this.root, "keydown", (e) => this.key(e));
    this.onResize(this.grid, () => this.refresh());
  }

  update(component, plans) {
    const { data } = component;
    this.send = component.setStateValue;
    if (this.plans !== plans) {
      const isSame = this.plans?.program === plans.program;
      this.plans = plans;
      if (isSame) {
        this.window.plans = plans;
        this.window.clamp();
      } else {
        this.window = new Window(plans);
        // What was chosen belongs to the program before.
        Object.assign(this.state, { group: NOBODY, hover: NOBODY, slot: NOBODY });
        this.nonce = null;
      }
      this.build();
      if (!isSame && data.window) this.window.take(data.window);
    }
    this.state.isDiff = data.is_diff;
    if (data.nonce !== this.nonce) {
      this.nonce = data.nonce;
      this.state.group = data.group < plans.group_names.length ? data.group : NOBODY;
      if (data.slot >= 0) this.reveal(data.slot);
    }
    this.grid.style.height = `${data.height}px`;
    this.refresh();
  }

  build() {
    this.panels = this.plans.one.map((plan, number) => {
      const element = this.pattern.cloneNode(true);
      element.querySelector("b").textContent = plan.name;
      element.querySelector("span").textContent = plan.caption;
      return new Panel(element, number);
    });
    this.grid.replaceChildren(...this.panels.map((panel) => panel.element));
    this.grid.dataset.count = this.panels.length;
    for (const panel of this.panels) this.listen(panel);
  }

  listen(panel) {
    const { canvas } = panel;
    const isForMap = wheelGuard(canvas);
    canvas.addEventListener(
      "wheel",
      (e) => {
        if (isForMap(e)) this.wheel(panel, e);
      },
      { passive: false },
    );
    onPointer(canvas, {
      pull: (_e, dx, dy) => this.pull(panel, dx, dy),
      click: (e) => this.choose(panel.number, ...this.pick(panel, e)),
      hover: (e) => this.point(panel, e),
    });
    canvas.addEventListener("pointerleave", () => {
      this.state.hover = NOBODY;
      this.draw();
    });
  }

  reveal(slot) {
    this.state.slot = slot;
    const unit = this.window.unitOf(0, slot),
      { x0, x1 } = this.window;
    if (unit < x0 || unit > x1) this.window.pan(unit - (x0 + x1) / 2, 0);
  }

  refresh() {
    if (!this.plans || !this.grid.clientWidth) return;
    const palette = readPalette(this.root);
    for (const panel of this.panels) panel.resize();
    const pen = this.panels[0].pen;
    this.look = { palette, scratch: hatch(pen, mix(palette.gray, 0.75), 6, 1, 1.2) };
    for (const button of this.root.querySelectorAll("[data-unit]")) {
      button.setAttribute("aria-pressed", button.dataset.unit === this.window.unit);
    }
    this.root.querySelector(".legend").innerHTML = this.legend(palette);
    this.draw();
  }

  legend(palette) {
    const items = this.state.isDiff
      ? [
          [mix(palette.gray, 0.3), "the same in both"],
          [mix(palette.green, 0.34), "at another address"],
          [palette.green, "at other times"],
          [`${palette.green};outline:1px solid ${palette.text}`, "only here"],
        ]
      : palette.kinds.map((colour, kind) => [colour, KINDS[kind]]);
    const times = [
      [mix(palette.gray, 0.75), "compute"],
      [palette.orange, "slow accesses"],
      [palette.red, "stalls"],
    ];
    const html = ([colour, text]) => `<span><i style="background:${colour}"></i>${text}</span>`;
    return `<b>Map</b>${items.map(html).join("")}<b>Strip</b>${times.map(html).join("")}`;
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.plans || !this.look) return;
      for (const panel of this.panels) panel.draw(this.plans, this.window, this.look, this.state);
      this.describe();
    });
  }

  // In words what the cursor shows, and for tests what the window is.
  describe() {
    const { plans, state, window: view } = this,
      group = state.hover >= 0 ? state.hover : state.group;
    const slot = Math.max(0, state.slot);
    const at = state.slot >= 0 ? `${plans.instruction_names[Math.min(slot, plans.numSlots - 1)]} (slot ${slot})` : "";
    let text = at || "Ctrl and the wheel zoom · drag pans · a click, or Enter, follows a tensor · f shows everything";
    if (group >= 0) {
      const places = plans.places(group, slot).map((place, n) => `${plans.one[n].name}: ${place}`);
      text = `${plans.group_names[group]} · ${sizeText(plans.group_granules[group] * plans.granule)} · ${at} — ${places.join(" · ")}`;
    }
    this.status.textContent = this.status.title = text;
    Object.assign(this.root.dataset, {
      plans: plans.id,
      group: state.group,
      slot: state.slot,
      diff: state.isDiff,
      window: [view.x0, view.x1, view.y0, view.y1].map((v) => v.toPrecision(6)).join(" "),
    });
  }

  wheel(panel, event) {
    const factor = Math.exp(Math.max(-80, Math.min(80, event.deltaY || event.deltaX)) * 0.0035);
    const scale = (this.window.x1 - this.window.x0) / panel.plotWidth;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) this.window.pan(event.deltaX * scale, 0);
    else if (event.shiftKey || event.offsetX < EDGE) this.window.zoomAddress(factor, panel.granuleAt(event.offsetY));
    else this.window.zoom(factor, panel.unitAt(event.offsetX));
    this.draw();
  }

  pull(panel, dx, dy) {
    const { x0, x1, y0, y1 } = this.window;
    this.window.pan((-dx * (x1 - x0)) / panel.plotWidth, (dy * (y1 - y0)) / panel.bottom);
    this.draw();
  }

  pick(panel, event) {
    const slot = panel.slotAt(event.offsetX);
    const stay = this.plans.stayAt(panel.number, slot, panel.granuleAt(event.offsetY));
    return [Math.min(slot, this.plans.numSlots - 1), stay === NOBODY ? NOBODY : panel.plan.stay_group[stay]];
  }

  point(panel, event) {
    if (!panel.plan) return;
    this.status.ariaLive = "off";
    [this.state.slot, this.state.hover] = this.pick(panel, event);
    this.draw();
  }

  choose(plan, slot, group) {
    Object.assign(this.state, { slot, group });
    this.draw();
    this.send("picked", { plans: this.plans.id, plan, group, slot, nonce: this.nonce });
  }

  // Chooses what lies at the cursor, one after another.
  chooseNext() {
    const slot = Math.max(0, this.state.slot),
      standing = this.plans.standing(slot);
    if (!standing.length) return;
    const at = standing.findIndex(([group]) => group === this.state.group);
    const [group, number] = standing[(at + 1) % standing.length];
    this.choose(number, slot, group);
  }

  press({ do: name, unit }) {
    const { window: view } = this,
      middle = (view.x0 + view.x1) / 2;
    if (unit) {
      view.setUnit(unit);
      this.refresh();
    }
    if (name === "in") view.zoom(0.6, middle);
    if (name === "out") view.zoom(1 / 0.6, middle);
    if (name === "fit") view.fit();
    if (name === "png") this.savePicture();
    if (name === "link") this.copyLink();
    if (name !== "link") this.draw();
  }

  key(event) {
    const key = keyOf(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.tagName === "BUTTON" && [" ", "Enter"].includes(key)) return;
    const name = { "+": "in", "=": "in", "-": "out", f: "fit" }[key];
    const step = { ArrowLeft: -1, ",": -1, ArrowRight: 1, ".": 1 }[key];
    // What keys do is read out; what the pointer passes over is not.
    this.status.ariaLive = "polite";
    if (name) this.press({ do: name });
    else if (step) {
      this.reveal(Math.max(0, Math.min(this.plans.numSlots - 1, this.state.slot + step * (event.shiftKey ? 10 : 1))));
      this.draw();
    } else if (key === "Enter") this.chooseNext();
    else if (key === "Escape") this.choose(0, this.state.slot, NOBODY);
    else return;
    event.preventDefault();
  }

  // The address of this page, with what only the browser knows: the window.
  copyLink() {
    const address = new URL(location.href);
    address.searchParams.set("window", this.window.text);
    history.replaceState(history.state, "", address);
    const say = (where) => () => {
      this.status.textContent = `The link is ${where}.`;
    };
    copyText(address.href, say("in the address bar and on the clipboard"), say("in the address bar"));
  }

  // All panels under one another, as they look now.
  savePicture() {
    const { palette } = this.look,
      ratio = devicePixelRatio || 1,
      gap = 26;
    const width = Math.max(...this.panels.map((p) => p.width));
    const height = this.panels.reduce((sum, p) => sum + p.height + gap, 0);
    const sheet = document.createElement("canvas"),
      pen = sheet.getContext("2d");
    [sheet.width, sheet.height] = [width * ratio, height * ratio];
    pen.scale(ratio, ratio);
    pen.fillStyle = palette.background;
    pen.fillRect(0, 0, width, height);
    let top = 0;
    for (const panel of this.panels) {
      pen.fillStyle = palette.text;
      pen.font = `600 13px ${palette.font}`;
      pen.fillText(`${panel.plan.name}  ${panel.plan.caption}`, EDGE, top + 17);
      pen.drawImage(panel.canvas, 0, top + gap, panel.width, panel.height);
      top += panel.height + gap;
    }
    saveAs(sheet.toDataURL("image/png"), `${this.plans.title}.png`);
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    super.destroy();
  }
}

const STORED = { most: 2, read: (bytes) => new Plans(bytes), idOf: (data) => data.plans, View: Sheet };
