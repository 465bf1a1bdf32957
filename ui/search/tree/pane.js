// One search: its root in numbers, its tree, and the budget that both are shown at.

const RUN_MS = 4000;

class Pane {
  constructor(view, element, number) {
    Object.assign(this, { view, element, number });
    const find = (selector) => element.querySelector(selector);
    this.icicle = new Icicle(find(".tree canvas"));
    this.chart = new BudgetChart(find("canvas.history"));
    [this.card, this.scrub, this.which, this.colours] = [
      find(".card"),
      find(".scrub"),
      find(".which"),
      find(".colour"),
    ];
    this.state = { selected: 0, hover: NONE, line: [] };
    find("thead").innerHTML = rootHead();
    this.wanted = null;
    this.listen();
  }

  listen() {
    const { element, scrub } = this,
      canvas = this.icicle.canvas,
      history = this.chart.canvas;
    element.addEventListener("focusin", () => this.view.activate(this.number));
    element.addEventListener("pointerdown", () => this.view.activate(this.number));
    scrub.addEventListener("input", () => this.setCount(Number(scrub.value)));
    this.which.addEventListener("change", () => {
      this.wanted = Number(this.which.value);
      this.pick();
      this.view.draw();
    });
    this.colours.addEventListener("change", () => {
      this.view.colour(this.colours.value);
    });
    element.addEventListener("click", (e) => {
      const name = e.target.dataset?.pane,
        action = e.target.closest("tr[data-action]")?.dataset.action;
      if (name === "run") this.run();
      if (name === "out") {
        this.icicle.zoomTo(0);
        this.view.draw();
      }
      if (name === "flip" && this.tree.flips.length) this.setCount(this.tree.flips.at(-1));
      if (action !== undefined) this.select(Math.max(0, this.grown.childOf(0, Number(action))));
    });
    element.querySelector("table").addEventListener("pointermove", (e) => {
      const row = e.target.closest("tr[data-action]");
      this.point(row ? this.grown.childOf(0, Number(row.dataset.action)) : NONE);
    });
    element.querySelector("table").addEventListener("pointerleave", () => this.point(NONE));
    const slide = (e) => this.setCount(this.chart.countAt(e.offsetX));
    onPointer(history, { pull: slide, click: slide });
    this.listenToTree(canvas);
  }

  listenToTree(canvas) {
    onPointer(canvas, {
      pull: (_e, dx, dy) => {
        this.at = null;
        this.icicle.pan(-dx, -dy / this.icicle.rowHeight);
        this.view.draw();
      },
      click: (e) => this.select(Math.max(0, this.icicle.pick(e.offsetX, e.offsetY))),
      hover: (e) => {
        this.at = [e.offsetX, e.offsetY];
        this.view.draw();
      },
    });
    canvas.addEventListener("pointerleave", () => {
      this.at = null;
      this.point(NONE);
    });
    canvas.addEventListener("dblclick", (e) => this.zoomTo(this.icicle.pick(e.offsetX, e.offsetY)));
    const isForTree = wheelGuard(canvas);
    canvas.addEventListener(
      "wheel",
      (e) => {
        if (!isForTree(e)) return;
        if (e.shiftKey) this.icicle.pan(0, Math.sign(e.deltaY || e.deltaX) * 2);
        else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.icicle.pan(e.deltaX, 0);
        else this.icicle.zoom(Math.exp(Math.max(-80, Math.min(80, e.deltaY)) * 0.004), e.offsetX);
        this.view.draw();
      },
      { passive: false },
    );
  }

  // The node under the pointer, which may be another one with every budget and window, and its card.
  hover() {
    const [x, y] = this.at ?? [NONE, NONE],
      node = this.icicle.pick(x, y),
      { card } = this;
    if (this.at) this.state.hover = node;
    card.hidden = node < 0;
    if (node < 0) return;
    card.innerHTML = nodeCard(this.grown, node, this.view.game);
    const { clientWidth, clientHeight } = this.icicle.canvas;
    card.style.left = `${Math.max(0, Math.min(x + 14, clientWidth - card.offsetWidth - 4))}px`;
    const below = y + 16;
    card.style.top = `${below + card.offsetHeight < clientHeight ? below : Math.max(0, y - card.offsetHeight - 10)}px`;
  }

  point(node) {
    if (this.state.hover === node) return;
    this.state.hover = node;
    this.view.draw();
  }

  // Another position: its first search, or the one that was chosen here.
  load(board) {
    this.board = board;
    const names = board.roots.map((root, i) => `<option value="${i}">${escapeText(root.name)}</option>`).join("");
    if (names !== this.names) this.which.innerHTML = this.names = names;
    this.pick();
  }

  pick() {
    const last = this.board.trees.length - 1,
      number = Math.min(last, this.wanted ?? (this.number ? last : 0));
    this.which.value = String(number);
    this.tree = this.board.trees[number];
    this.state = { selected: 0, hover: NONE, line: [] };
    this.icicle.load(this.tree, this.view.game);
    this.scrub.max = String(this.tree.last);
    this.setCount(this.tree.last);
  }

  setCount(count) {
    this.count = Math.max(0, Math.min(this.tree.last, count));
    this.grown = this.count === this.tree.last ? this.tree.whole : this.tree.grow(this.count);
    if (this.state.selected > this.count) this.state.selected = 0;
    this.scrub.value = String(this.count);
    this.view.shown = Infinity;
    this.view.draw();
  }

  // All simulations, one after another.
  run() {
    if (this.running) {
      this.halt();
      return;
    }
    const from = this.count >= this.tree.last ? 0 : this.count,
      begin = performance.now();
    const pace = Math.max(RUN_MS, 0) / this.tree.last,
      tree = this.tree;
    this.element.querySelector('[data-pane="run"]').textContent = "❚❚";
    const step = (now) => {
      if (this.tree !== tree) return this.halt();
      this.setCount(from + Math.floor((now - begin) / pace));
      if (this.count >= tree.last) return this.halt();
      this.running = requestAnimationFrame(step);
    };
    this.running = requestAnimationFrame(step);
  }

  halt() {
    cancelAnimationFrame(this.running);
    this.running = null;
    this.element.querySelector('[data-pane="run"]').textContent = "▷";
  }

  select(node) {
    this.state.selected = node;
    this.view.shown = Infinity;
    if (node) this.icicle.reveal(node);
    this.view.draw();
  }

  zoomTo(node) {
    if (node >= 0) {
      this.icicle.zoomTo(node);
      this.view.draw();
    }
  }

  // To a relative of the selected node that this budget has reached.
  walk(where) {
    const { grown, tree, state } = this,
      node = state.selected,
      up = tree.parent[node];
    const siblings = node ? tree.children[up].filter((c) => grown.visits[c]) : [0],
      at = siblings.indexOf(node);
    const to = {
      down: node ? grown.favourite(node) : grown.childOf(0, grown.leader),
      up,
      left: siblings[at - 1],
      right: siblings[at + 1],
    }[where];
    if (to !== undefined && to >= 0) this.select(to);
  }

  draw(look, saved) {
    const { grown, tree, state, element } = this;
    const paint = PAINTS[look.colour](tree);
    this.icicle.place(grown);
    this.hover();
    state.line = grown.line(state.hover > 0 && state.hover <= this.count ? state.hover : state.selected);
    this.icicle.draw({ ...look, paint }, state);
    this.chart.draw(tree, this.count, look.palette);
    const first = state.line[0],
      hovered = state.hover > 0 && first !== undefined ? tree.action[first] : NONE;
    const rows = rootRows(grown, saved, hovered),
      scale = scaleHtml(paint, look.palette);
    if (rows !== this.rows) refill(element.querySelector("tbody"), (this.rows = rows));
    if (scale !== this.scale) element.querySelector(".scale").innerHTML = this.scale = scale;
    this.colours.value = look.colour;
    element.querySelector(".count").textContent =
      `${this.count.toLocaleString("en")} of ${tree.last.toLocaleString("en")} simulations`;
    element.querySelector(".flip").textContent = flipText(tree);
    element.querySelector('[data-pane="out"]').disabled = this.icicle.isWhole;
    Object.assign(element.dataset, {
      count: this.count,
      leader: grown.leader,
      selected: state.selected,
      nodes: tree.size,
    });
  }
}
