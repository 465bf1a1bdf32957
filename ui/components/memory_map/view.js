// One map on the page: its elements, its state, and what mouse and keys do to it.

const COMMIT_MS = 140, FILM_SECONDS = 20;

class MapView {
  constructor(root, template, style) {
    root.append(template.content.cloneNode(true), style.cloneNode(true));
    this.root = root.querySelector(".map");
    this.stage = this.root.querySelector(".stage");
    this.base = this.root.querySelector("canvas.base");
    this.top = this.root.querySelector("canvas.top");
    this.card = this.root.querySelector(".card");
    this.counter = this.root.querySelector(".counter input");
    this.axes = new Axes();
    this.state = { move: 0, selected: NONE, hover: NONE, overlay: null };
    this.colour = "kind";
    this.nonce = null;
    this.cleanups = [];
    this.listen();
  }

  update(component, stored) {
    const { data } = component;
    this.send = component.setStateValue;
    const plan = stored.withDraft(data.draft);
    const isOther = !this.plan || this.plan.program !== plan.program;
    this.plan = plan;
    this.stage.style.height = `${data.height}px`;
    this.axes.plan = plan;
    if (isOther) this.axes.load(plan);
    this.state.overlay = data.overlay;
    if (isOther || data.nonce !== this.nonce) {
      this.nonce = data.nonce;
      this.state.selected = data.selected ?? NONE;
      this.state.move = this.bounded(data.move);
    }
    this.state.move = this.bounded(this.state.move);
    this.refresh();
  }

  bounded(move) { return Math.max(0, Math.min(this.plan.numMoves - 1, Math.round(move) || 0)); }

  refresh() {
    const palette = readPalette(this.root);
    this.look = { palette, colour: this.colour, patterns: makePatterns(this.base.getContext("2d"), palette) };
    this.root.querySelector(".legend").innerHTML = legendOf(palette, this.colour, this.plan);
    for (const button of this.root.querySelectorAll("[data-colour]")) {
      button.setAttribute("aria-pressed", button.dataset.colour === this.colour);
    }
    for (const button of this.root.querySelectorAll("[data-axis]")) {
      button.setAttribute("aria-pressed", button.dataset.axis === this.axes.mode);
    }
    this.fitCanvases();
    this.draw();
  }

  fitCanvases() {
    const { clientWidth: width, clientHeight: height } = this.stage, ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    this.axes.resize(width, height);
    for (const canvas of [this.base, this.top]) {
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }

  draw() { this.wanted = "both"; this.schedule(); }
  drawTopOnly() { this.wanted ??= "top"; this.schedule(); }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      const wanted = this.wanted;
      this.frame = this.wanted = null;
      if (!this.plan || !this.axes.width) return;
      if (wanted === "both") drawBase(this.base.getContext("2d"), this.axes, this.plan, this.look);
      drawTop(this.top.getContext("2d"), this.axes, this.plan, this.look, this.state);
      this.describe();
    });
  }

  // What the page says in words, and what a test can read.
  describe() {
    const { plan, state, axes } = this, digits = (v) => v.toPrecision(6);
    if (this.root.getRootNode().activeElement !== this.counter) this.counter.value = plan.numMoves ? state.move + 1 : 0;
    this.root.querySelector(".total").textContent = `of ${plan.numMoves.toLocaleString("en")}`;
    const sentence = this.root.querySelector(".sentence");
    sentence.textContent = sentence.title = moveSentence(plan, state.move);
    Object.assign(this.root.dataset, {
      plan: plan.id, move: state.move, selected: state.selected,
      window: [axes.x0, axes.x1, axes.y0, axes.y1].map(digits).join(" "), stays: plan.numStays,
    });
  }

  go(move) {
    const next = this.bounded(move);
    if (next === this.state.move) return;
    this.state.move = next;
    const time = this.plan.move_time[next], x = this.axes.xOf(time);
    if (x < LEFT || x > this.axes.width - RIGHT) { this.axes.centre(time); this.draw(); } else this.drawTopOnly();
    this.commit();
  }

  select(group) {
    this.state.selected = group;
    this.drawTopOnly();
    this.commit();
  }

  // Python hears of the move when the hand rests, not of every step on the way.
  commit() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.film) return;
      this.send("cursor", { plan: this.plan.id, move: this.state.move, selected: this.state.selected, nonce: this.nonce });
    }, COMMIT_MS);
  }

  play() {
    if (this.film) return this.stop();
    if (this.state.move >= this.plan.numMoves - 1) this.go(0);
    const from = this.state.move, begin = performance.now();
    const pace = Math.max(4, this.plan.numMoves / FILM_SECONDS);
    this.root.querySelector('[data-do="play"]').textContent = "❚❚";
    const step = (now) => {
      this.go(from + Math.floor((now - begin) / 1000 * pace));
      if (this.state.move >= this.plan.numMoves - 1) return this.stop();
      this.film = requestAnimationFrame(step);
    };
    this.film = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.film);
    this.film = null;
    this.root.querySelector('[data-do="play"]').textContent = "▷";
    this.commit();
  }

  act(name) {
    const { axes, state } = this, middle = LEFT + axes.plotWidth / 2;
    const time = this.plan.numMoves ? this.plan.move_time[state.move] : 0, x = axes.xOf(time);
    const anchor = x >= LEFT && x <= axes.width - RIGHT ? x : middle;
    const moves = { first: 0, back: state.move - 1, next: state.move + 1, last: this.plan.numMoves - 1 };
    if (name in moves) { if (this.film) this.stop(); this.go(moves[name]); return; }
    if (name === "play") { this.play(); return; }
    if (name === "in") axes.zoomTime(0.6, anchor);
    if (name === "out") axes.zoomTime(1 / 0.6, anchor);
    if (name === "fit") axes.fit();
    this.draw();
  }

  hide() { this.card.hidden = true; this.state.hover = NONE; this.top.classList.remove("over"); }

  destroy() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.film);
    cancelAnimationFrame(this.frame);
    for (const undo of this.cleanups) undo();
  }
}
