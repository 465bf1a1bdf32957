// The whole view: the value curve, one or two searches of the current position, and their line.

const COMMIT_MS = 110;

class SearchView extends View {
  constructor(parent, template, style) {
    super(parent, template, style, ".search");
    const find = (selector) => this.root.querySelector(selector);
    this.curve = new ValueCurve(find(".curve canvas"));
    this.film = new Film(find(".film canvas"));
    [this.counter, this.card, this.list] = [find(".counter input"), find(".curve .card"), find(".steps ol")];
    const pattern = find(".pane");
    this.panes = [0, 1].map((number) => new Pane(this, number ? pattern.cloneNode(true) : pattern, number));
    find(".panes").append(this.panes[1].element);
    this.paint = "worth";
    this.active = 0;
    this.shown = Infinity;
    this.listen();
    listenToKeys(this);
  }

  listen() {
    const { root, curve, card, list } = this;
    this.on(root, "click", (e) => this.act(e.target.closest("[data-go]")?.dataset.go));
    this.on(this.counter, "change", () => {
      this.go(moveOfText(this.counter.value) ?? this.move);
      root.focus({ preventScroll: true });
    });
    // An unchanged number is no change, but the keys are the page's again.
    this.on(this.counter, "keydown", (e) => {
      if (e.key === "Enter") root.focus({ preventScroll: true });
    });
    const hover = (e) => {
      card.hidden = false;
      card.innerHTML = curveCard(this.game, curve.moveAt(e.offsetX));
      card.style.left = `${Math.min(e.offsetX + 16, curve.canvas.clientWidth - card.offsetWidth - 4)}px`;
    };
    const slide = (e) => {
      this.go(curve.moveAt(e.offsetX));
      hover(e);
    };
    onPointer(curve.canvas, { pull: slide, click: slide, hover });
    this.on(curve.canvas, "pointerleave", () => {
      card.hidden = true;
    });
    const step = (e) => {
      const row = e.target.closest("li[data-step]");
      if (row) this.show(Number(row.dataset.step));
    };
    this.on(list, "pointerover", step);
    this.on(list, "click", step);
    for (const event of ["pointerleave", "blur"]) this.on(list, event, () => this.show(Infinity));
    this.onResize(root, () => this.refresh());
  }

  get pane() {
    return this.panes[this.isBoth ? this.active : 0];
  }
  get isBoth() {
    return this.wantsBoth && this.board?.roots.length > 1;
  }

  update(component, game) {
    const board = new Board(component.data, game);
    this.send = component.setStateValue;
    // What is known of a game may grow, and its identity with it; the place in it stays.
    const nameOf = (id) => id?.split("~")[0];
    const isOther = nameOf(this.game?.id) !== nameOf(game.id),
      isGrown = this.game?.id !== game.id,
      isFresh = board.nonce !== this.nonce;
    const had = this.board?.move === board.move && !isOther ? this.board.roots.length : board.roots.length;
    const isNews = isGrown || !this.board || this.board.key !== board.key;
    [this.game, this.nonce] = [game, board.nonce];
    if (isOther || isFresh) this.move = board.move;
    // A search that was asked for stands on the right as soon as it is there.
    if (isFresh && board.beside > 0) {
      this.wantsBoth = true;
      this.panes[1].wanted = board.beside;
      if (!isNews) this.panes[1].load(board);
    }
    this.order = null;
    // The answer for a move that was left meanwhile is not shown.
    if (board.move === this.move && isNews) {
      this.board = board;
      if (board.roots.length > had) [this.wantsBoth, this.active] = [true, 1];
      for (const pane of this.panes) {
        if (board.roots.length > had && board.beside < 1) pane.wanted = null;
        pane.load(board);
      }
      this.shown = Infinity;
    }
    this.refresh();
  }

  go(move) {
    const next = Math.max(0, Math.min(this.game.numMoves - 1, Math.round(move) || 0));
    if (next === this.move) {
      this.draw();
      return;
    }
    this.move = next;
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tell(), COMMIT_MS);
  }

  tell() {
    const cursor = { game: this.game.id, move: this.move, nonce: this.nonce };
    this.send("cursor", this.order ? { ...cursor, command: this.order } : cursor);
  }

  // Sends Python an order, which it carries out: see ui/search/board_view.py.
  command(name, given = {}) {
    clearTimeout(this.timer);
    this.serial = Math.max(Date.now(), (this.serial ?? 0) + 1);
    this.order = { ...given, do: name, serial: this.serial };
    this.tell();
  }

  curveMode(name) {
    this.curve.mode = name;
    this.refresh();
  }
  colour(name) {
    this.paint = name;
    this.draw();
  }
  activate(number) {
    if (this.active !== number) {
      this.active = number;
      this.draw();
    }
  }
  show(step) {
    if (this.shown !== step) {
      this.shown = step;
      this.draw();
    }
  }

  // To another move of the line, for its film.
  step(by) {
    const last = this.list.children.length - 1,
      next = Math.max(0, Math.min(last, Math.min(last, this.shown) + by));
    this.list.children[next]?.scrollIntoView({ block: "nearest" });
    this.show(next);
  }

  surprise(by) {
    const { surprising } = this.game;
    if (!surprising.length) return;
    const at = surprising.indexOf(this.move);
    this.go(surprising[at < 0 ? 0 : (at + by + surprising.length) % surprising.length]);
  }

  // Through the rows of the inbox, as they stand there.
  finding(by) {
    const { findings } = this.game;
    if (!findings.length) return;
    const at = findings.indexOf(this.move);
    this.go(findings[at < 0 ? 0 : (at + by + findings.length) % findings.length]);
  }

  act(name) {
    const acts = {
      first: () => this.go(0),
      back: () => this.go(this.move - 1),
      next: () => this.go(this.move + 1),
      last: () => this.go(this.game.numMoves - 1),
      surprise: () => this.surprise(1),
      calmer: () => this.surprise(-1),
      both: () => {
        this.wantsBoth = !this.wantsBoth;
        this.refresh();
      },
      total: () => this.curveMode("total"),
      lead: () => this.curveMode("lead"),
      film: () => this.playFilm(),
      play: () => this.openLine(),
      png: () => this.savePicture(),
      help: () => this.help(),
    };
    acts[name]?.();
  }

  // The actions of the line, up to the one that is shown, as a variation in Play.
  openLine() {
    const { pane } = this,
      nodes = pane.state.line.slice(0, Math.min(pane.state.line.length, this.shown + 1));
    const legal = nodes.findIndex((node) => pane.tree.state[node] === ILLEGAL);
    const kept = legal < 0 ? nodes : nodes.slice(0, legal);
    this.command("open", { actions: kept.map((node) => pane.tree.action[node]) });
  }

  playFilm() {
    const steps = Math.min(MOST_STEPS, this.pane.state.line.length),
      begin = performance.now(),
      { board } = this;
    if (this.rolling) {
      cancelAnimationFrame(this.rolling);
      this.rolling = null;
      this.show(Infinity);
      return;
    }
    const roll = (now) => {
      const step = Math.floor((now - begin) / STEP_MS);
      if (step >= steps || this.board !== board) {
        this.rolling = null;
        this.show(Infinity);
        return;
      }
      this.show(step);
      this.rolling = requestAnimationFrame(roll);
    };
    this.rolling = requestAnimationFrame(roll);
  }

  refresh() {
    if (!this.game || !this.board || !this.root.clientWidth) return;
    const palette = readPalette(this.root),
      pen = this.curve.canvas.getContext("2d");
    const patterns = {
      scratch: hatch(pen, mix(palette.gray, 0.75), 6, 1, 1.2),
      illegal: hatch(pen, mix(palette.red, 0.8), 6, 1, 2),
    };
    this.look = { palette, patterns };
    this.root.dataset.both = this.isBoth;
    this.panes[1].element.hidden = !this.isBoth;
    for (const mode of ["total", "lead"])
      this.root.querySelector(`[data-go="${mode}"]`).setAttribute("aria-pressed", this.curve.mode === mode);
    const legend = curveLegend(this.game, palette, this.curve.mode);
    if (legend !== this.legend) this.root.querySelector(".curve-legend").innerHTML = this.legend = legend;
    const both = this.root.querySelector('[data-go="both"]');
    both.setAttribute("aria-pressed", Boolean(this.isBoth));
    both.disabled = this.board.roots.length < 2;
    this.draw();
  }

  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.look || !this.board) return;
      const { game, board, look, paint } = this,
        at = board.move;
      this.curve.draw(game, this.move, look);
      const saved = game.par[at];
      for (const pane of this.panes) if (!pane.element.hidden) pane.draw({ ...look, colour: paint }, saved);
      const { grown, state } = this.pane,
        shown = Math.min(this.shown, state.line.length - 1);
      this.film.draw(game, board, grown, state.line, shown, look);
      const steps = stepsHtml(grown, state.line, game, shown);
      if (steps !== this.steps) refill(this.list, (this.steps = steps));
      this.list.setAttribute("aria-activedescendant", shown < 0 ? "" : `step-${shown}`);
      this.describe(shown);
    });
  }

  // Updates the texts of the view, and the data attributes that tests read.
  describe(shown) {
    const { root, game, board, pane } = this,
      rank = game.surprising.indexOf(this.move);
    if (root.getRootNode().activeElement !== this.counter) this.counter.value = this.move + 1;
    root.querySelector(".total").textContent = `of ${game.numMoves.toLocaleString("en")}`;
    const sentence = root.querySelector(".sentence"),
      mark = game.mark(this.move) && ` · ${game.mark(this.move)}`,
      note = rank < 0 ? mark : `${mark} · surprise ${rank + 1} of ${game.surprising.length}`;
    const node = pane.state.selected,
      of = node
        ? ` · ${ACTIONS[pane.tree.action[node]]} at move ${pane.tree.move + pane.tree.depth[node]}, ${counted(pane.grown.visits[node], "visit")}`
        : "";
    sentence.textContent = sentence.title = `${game.sentence(this.move)}${note}${of}`;
    root.querySelector(".line-of").textContent = this.isBoth ? ` · ${this.active ? "right" : "left"} search` : "";
    root.toggleAttribute("aria-busy", board.move !== this.move);
    for (const other of this.panes) other.element.classList.toggle("active", Boolean(this.isBoth) && other === pane);
    Object.assign(root.dataset, {
      game: game.id,
      move: this.move,
      board: board.move,
      searches: board.roots.length,
      colour: this.paint,
      line: pane.state.line.map((n) => pane.tree.action[n]).join(""),
      shown,
      ghosts: this.film.acted,
    });
  }

  help() {
    this.toggleHelp(HELP);
  }

  destroy() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.rolling);
    for (const pane of this.panes) pane.halt();
    super.destroy();
  }
}

const STORED = {
  most: 2,
  read: (bytes) => new Game(bytes),
  idOf: (data) => unpack(data)[0].game,
  View: SearchView,
};
