// One map on the page: its elements, its state, and what mouse and keys do to it.

const TOAST_MS = 2_500,
  REASON_MS = 7_000;
// The panel beside the map is drawn at about the same time as the map gets a step's message.
const PANEL_MS = 120;
const CURVES = ["total", "lead"];
const MISSED = "The board changed at that moment, so this was not done: try again";

class MapView extends View {
  constructor(parent, template, style) {
    super(parent, template, style, ".map");
    const find = (selector) => this.root.querySelector(selector);
    this.stage = find(".stage");
    this.base = find("canvas.base");
    this.top = find("canvas.top");
    this.card = find(".card");
    this.counter = find(".counter input");
    this.axes = new Axes();
    this.state = { move: 0, selected: NONE, hover: NONE, overlay: null };
    this.colour = "kind";
    this.curve = CURVES[0];
    this.nonce = null;
    this.tour = null;
    this.orders = [];
    this.listing = new Listing(this);
    this.finder = new Finder(this);
    this.area = new AreaPane(this);
    this.listen();
  }

  update(component, stored) {
    const { data } = component;
    // Python sends these only when they change; the registry keeps them, as it outlives the view.
    const { players, link, look } = data;
    const sent = Object.assign((registry().sent ??= {}), JSON.parse(JSON.stringify({ players, link, look })));
    this.send = component.setStateValue;
    const plan = stored.withDraft(data.draft);
    const isOther = !this.plan || this.plan.program !== plan.program;
    this.plan = plan;
    this.root.classList.toggle("lesson", Boolean(data.is_lesson));
    this.root.classList.toggle("plain", Boolean(data.is_plain));
    this.link = sent.link;
    this.treeName = data.tree.name;
    this.axes.plan = plan;
    this.enter(data.board);
    if (isOther) {
      this.parts = new Set();
      this.open(plan, sent.look);
    }
    this.state.overlay = data.overlay;
    if (isOther || data.nonce !== this.nonce) {
      this.nonce = data.nonce;
      if (this.film) this.stop();
      this.state.selected = data.selected ?? NONE;
      this.state.move = this.bounded(data.move);
      this.reveal();
    }
    if (this.order?.serial === data.handled) this.tellOutcome(data);
    this.state.move = this.bounded(this.state.move);
    drawTree(this, data.tree);
    drawPlayers(this, sent.players);
    this.refresh();
    if (data.tour && !this.tour) this.beginTour(data.tour);
    this.answered(data.handled);
    this.explaining = setTimeout(() => this.explainTerms(), PANEL_MS);
    if (data.draft && plan.version !== data.draft.number) this.tell();
  }

  // Says what has become of the last command, where nothing else shows it.
  tellOutcome({ missed, refusal, note }) {
    if (missed) this.say(MISSED, REASON_MS);
    else if (refusal) {
      this.say(`${ACTIONS[this.order.action]} is not allowed here. ${refusal}`, REASON_MS);
      this.refusedAt = this.state.move;
      flash(this.order.action);
    } else if (note) this.say(note, REASON_MS);
  }

  // Shows another program: whole, or in the look that this browser or the link had of it.
  open(plan, look) {
    const shared = registry(),
      key = JSON.stringify(look);
    this.axes.load(plan);
    if (this.area.isOpen) this.area.close();
    this.takeLook(this.looks.get(plan.program) ?? {});
    if (shared.followed !== key) this.takeLook(look);
    shared.followed = key;
  }

  // The last look at each program; it outlives the view.
  get looks() {
    return (registry().looks ??= new Map());
  }

  // A lesson or a tour has no tools for an engineer.
  get isSimple() {
    return this.tour || this.root.classList.contains("lesson");
  }

  bounded(move) {
    return Math.max(0, Math.min(this.plan.lastMove, Math.round(move) || 0));
  }
  get slot() {
    return this.plan.numMoves ? this.plan.move_time[this.state.move] : 0;
  }

  // Takes over plan, colours and theme; without news only the top layer is drawn again.
  refresh() {
    const { plan } = this,
      palette = readPalette(this.root);
    const ghosts = this.state.overlay?.ghosts ?? [];
    const hasOpinion = ghosts.some((ghost) => ghost.visits !== undefined);
    if (this.sees(partsOfGhosts(ghosts)) || hasOpinion !== this.hasOpinion) {
      this.hasOpinion = hasOpinion;
      if (this.look) this.writeLegend();
    }
    const key = JSON.stringify([palette, this.colour, this.curve, this.axes.mode, devicePixelRatio]);
    this.fitCanvases();
    if (key === this.lookKey && plan === this.lookedAt) {
      this.drawTopOnly();
      return;
    }
    Object.assign(this, { lookKey: key, lookedAt: plan });
    const colouring = COLOURINGS[this.colour](plan, palette);
    this.look = { palette, colouring, curve: this.curve, patterns: makePatterns(this.base.getContext("2d"), palette) };
    this.sees(partsOfPlan(plan));
    this.writeLegend();
    this.area.show();
    this.root.querySelector(".colour").value = this.colour;
    this.press("axis", this.axes.mode);
    const hasRival = plan.rival_saved.length > 0,
      lead = this.root.querySelector('[data-curve="lead"]');
    this.press("curve", hasRival ? this.curve : "total");
    lead.disabled = !hasRival;
    lead.title = hasRival
      ? `Curve: ahead of ${plan.rival}, or behind it (v)`
      : "Curve: the lead over another plan; there is none yet";
    this.draw();
  }

  // Keeps what the board has shown so far, of what the legend explains; returns whether that is news.
  sees(parts) {
    const before = this.parts.size;
    for (const part of parts) this.parts.add(part);
    return this.parts.size > before;
  }

  writeLegend() {
    const items = [
      ...legendOf(this.look, this.plan),
      ...ghostLegend(this.look, this.hasOpinion),
      ...curveLegend(this.plan, this.look),
    ].filter(([, , , part]) => !part || this.parts.has(part));
    this.root.querySelector(".legend").innerHTML = items
      .map(
        ([style, text, pattern = ""]) =>
          `<span><i style="${style}" data-pattern="${pattern}"></i>${termHtml(text)}</span>`,
      )
      .join("");
  }

  press(name, value) {
    for (const button of this.root.querySelectorAll(`[data-${name}]`)) {
      button.setAttribute("aria-pressed", button.dataset[name] === value);
    }
  }

  fitCanvases() {
    const { clientWidth: width, clientHeight: height } = this.stage,
      ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    this.axes.resize(width, height);
    for (const canvas of [this.base, this.top]) {
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        this.lookKey = null;
      }
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }

  draw() {
    this.wanted = "both";
    this.schedule();
  }
  drawTopOnly() {
    this.wanted ??= "top";
    this.schedule();
  }

  schedule() {
    // Why an action is refused is of no interest at another move.
    if (this.refusedAt !== undefined && this.refusedAt !== this.state.move) this.quieten();
    this.frame ??= requestAnimationFrame(() => {
      const wanted = this.wanted;
      this.frame = this.wanted = null;
      if (!this.plan || !this.axes.width) return;
      if (wanted === "both") {
        // Something else may lie under the pointer now.
        if (this.pointed) this.hoverOver(this.pointed);
        drawBase(this.base.getContext("2d"), this.axes, this.plan, this.look);
        this.looks.set(this.plan.program, this.lookNow());
      }
      this.look.labels ??= [];
      drawTop(this.top.getContext("2d"), this.axes, this.plan, this.look, this.state);
      this.describe();
    });
  }

  // Updates the texts of the view, and the data attributes that tests read.
  describe() {
    const { plan, state, axes } = this,
      digits = (v) => v.toPrecision(6);
    if (this.root.getRootNode().activeElement !== this.counter) this.counter.value = plan.numMoves ? state.move + 1 : 0;
    this.root.querySelector(".total").textContent = `of ${plan.numMoves.toLocaleString("en")}`;
    const sentence = this.root.querySelector(".sentence");
    sentence.textContent = sentence.title = this.tour
      ? `${state.move + 1}. ${this.tour.captions[state.move]}`
      : moveSentence(plan, state.move);
    this.listing.follow(this.slot);
    Object.assign(this.root.dataset, {
      plan: plan.id,
      move: state.move,
      selected: state.selected,
      tip: plan.tip,
      colour: this.colour,
      axis: axes.mode,
      window: [axes.x0, axes.x1, axes.y0, axes.y1].map(digits).join(" "),
      stays: plan.numStays,
      area: areaText(state.area),
    });
  }

  // By hand: that ends a film.
  go(move) {
    if (this.film) this.stop();
    this.moveTo(move);
  }

  moveTo(move) {
    const next = this.bounded(move);
    if (next === this.state.move) return;
    this.state.move = next;
    this.reveal();
    this.commit();
  }

  // Brings the current slot into the window.
  reveal() {
    const { axes, slot } = this,
      x = axes.width ? axes.xOf(slot) : NaN;
    if (x < LEFT || x > axes.width - RIGHT) {
      axes.centre(slot);
      this.draw();
    } else this.drawTopOnly();
  }

  select(group) {
    this.state.selected = group;
    this.drawTopOnly();
    this.commit();
  }

  say(text, milliseconds = TOAST_MS) {
    const toast = this.root.querySelector(".toast");
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(this.silence);
    this.refusedAt = undefined;
    this.silence = setTimeout(() => this.quieten(), milliseconds);
  }

  quieten() {
    this.root.querySelector(".toast").hidden = true;
    this.refusedAt = undefined;
  }

  act(name) {
    const { axes, state } = this,
      middle = LEFT + axes.plotWidth / 2;
    const x = axes.xOf(this.slot),
      anchor = x >= LEFT && x <= axes.width - RIGHT ? x : middle;
    const moves = {
      first: 0,
      back: state.move - 1,
      next: state.move + 1,
      last: this.plan.lastMove,
      mattering: this.plan.mattering(state.move, 1),
      matteringBack: this.plan.mattering(state.move, -1),
    };
    if (Object.hasOwn(moves, name)) {
      this.go(moves[name]);
      return;
    }
    const others = {
      play: () => this.play(),
      png: () => this.savePng(),
      svg: () => this.saveSvg(),
      link: () => this.link.program && this.copyLink(),
      help: () => this.help(),
      slower: () => this.changeSpeed(-1),
      faster: () => this.changeSpeed(1),
      find: () => this.finder.input.select(),
      enlarge: () => this.enlargeSelected(),
      area: () => this.isSimple || this.area.toggle(),
      axis: () => {
        axes.setMode(axes.mode === "slots" ? "seconds" : "slots");
        this.refresh();
      },
      curve: () => {
        this.curve = CURVES[(CURVES.indexOf(this.curve) + 1) % CURVES.length];
        this.refresh();
      },
      undo: () => this.command("undo"),
      redo: () => this.command("redo"),
      let: () => this.letPlay(),
      in: () => axes.zoomTime(0.6, anchor),
      out: () => axes.zoomTime(1 / 0.6, anchor),
      fit: () => axes.fit(),
    };
    others[name]?.();
    if (["in", "out", "fit", "enlarge"].includes(name)) this.draw();
  }

  help() {
    this.toggleHelp(HELP);
  }

  destroy() {
    for (const timer of [this.timer, this.patience, this.silence, this.explaining]) clearTimeout(timer);
    this.focusKeeper?.disconnect();
    cancelAnimationFrame(this.film);
    cancelAnimationFrame(this.frame);
    super.destroy();
  }
}

// Draws the eye to the card of a refused action, which says why.
function flash(action) {
  const card = document.querySelector(`.turn .choice.${ACTIONS[ACTION_KINDS[action]].toLowerCase()}`);
  // Without motion the outline is there for a while, and then it is not.
  const easing = matchMedia("(prefers-reduced-motion: reduce)").matches ? "steps(1)" : "linear";
  card?.animate([{ outline: "3px solid #d23b4e" }, { outline: "3px solid #d23b4e00" }], { duration: 900, easing });
}

const STORED = {
  most: 3,
  read: (bytes) => new PlanData(...unpack(bytes)),
  idOf: (data) => data.plan,
  View: MapView,
};
