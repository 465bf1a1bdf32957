// The state that the map sends Python: its cursor, and commands, one after another.

const COMMIT_MS = 140,
  // How long a command waits before it is looked after, and how often it is sent at most.
  PATIENCE_MS = 1_000,
  MOST_TRIES = 2,
  // Commands that wait for the answer to another one: more than these nobody keeps in mind.
  MOST_ORDERS = 20;

// Sends the cursor when the hand rests, not at every step on the way.
MapView.prototype.commit = function () {
  clearTimeout(this.timer);
  this.timer = setTimeout(() => {
    if (!this.film) this.tell();
  }, COMMIT_MS);
};

MapView.prototype.tell = function () {
  if (this.tour) return;
  this.keepFocus();
  const { plan, state, nonce, order } = this;
  const cursor = { plan: plan.id, held: plan.version, move: state.move, selected: state.selected, nonce };
  this.send("cursor", order ? { ...cursor, command: order } : cursor);
};

// The panel beside the map is new HTML at each step: who was in it by keyboard stays at the same
// button, or where that is gone, in the panel.
MapView.prototype.keepFocus = function () {
  let held = document.activeElement;
  if (!held?.matches(":is(.turn, .turn *):focus-visible")) return;
  this.focusKeeper?.disconnect();
  this.focusKeeper = new MutationObserver(() => {
    const turn = document.querySelector(".turn");
    if (held.isConnected || !turn) return;
    if (document.activeElement !== document.body) {
      this.focusKeeper.disconnect();
      return;
    }
    const order = (element) => JSON.stringify({ ...element.dataset });
    turn.tabIndex = -1;
    held = [...turn.querySelectorAll("[data-do]")].find((button) => order(button) === order(held)) ?? turn;
    held.focus({ preventScroll: true });
  });
  this.focusKeeper.observe(document.body, { childList: true, subtree: true });
};

// A command for Python (ui/play/commands.py); the next one waits for the answer to this one.
MapView.prototype.command = function (name, given = {}) {
  if (this.tour) return;
  if (this.film) this.stop();
  if (this.order) {
    if (this.orders.length < MOST_ORDERS) this.orders.push([name, given]);
    else this.say("Too much is waiting: go on when it is done");
    return;
  }
  clearTimeout(this.timer);
  this.serial = Math.max(Date.now(), (this.serial ?? 0) + 1);
  this.order = { ...given, do: name, serial: this.serial, move: this.state.move, board: this.board };
  this.root.setAttribute("aria-busy", "true");
  if (name === "score") toTheTop();
  this.tell();
  this.watch(1);
};

// Looks after the command once a second. While Python works it says so; an answer that got lost is
// asked for again, which Python notices by the serial number, and at last given up.
MapView.prototype.watch = function (tries) {
  clearTimeout(this.patience);
  this.patience = setTimeout(() => {
    if (isPythonAtWork()) {
      this.say("Working …");
      this.isWorkSaid = true;
      this.watch(tries);
    } else if (tries < MOST_TRIES) {
      this.say("No answer yet: asking again");
      this.order = { ...this.order, tries: tries + 1 };
      this.tell();
      this.watch(tries + 1);
    } else {
      this.waitForNothing();
      this.say("No answer came: try again, or reload the page", REASON_MS);
    }
  }, PATIENCE_MS);
};

// Whether Streamlit's front end says that a script runs.
function isPythonAtWork() {
  return document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "running";
}

// Python has answered all commands up to this serial number; the next one goes out.
MapView.prototype.answered = function (serial) {
  if (!this.order || !(serial >= this.order.serial)) return;
  const { orders } = this;
  this.waitForNothing();
  if (!orders.length) return;
  this.command(...orders[0]);
  this.orders = orders.slice(1);
};

// Another board is shown: what waits was meant for the last one.
MapView.prototype.enter = function (board) {
  if (board === this.board) return;
  const isLost = this.orders.length > 0,
    isNext = this.board !== undefined;
  this.waitForNothing();
  this.board = board;
  if (isNext && this.root.classList.contains("lesson")) toTheTop();
  if (isLost) this.say("This is another board: what you did meanwhile was not done here", REASON_MS);
};

// A new lesson or position begins at its text, wherever the last one was left.
function toTheTop() {
  document.querySelector('[data-testid="stMain"]')?.scrollTo({ top: 0 });
}

MapView.prototype.waitForNothing = function () {
  clearTimeout(this.patience);
  if (this.isWorkSaid) this.root.querySelector(".toast").hidden = true;
  this.isWorkSaid = false;
  this.order = null;
  this.orders = [];
  this.root.removeAttribute("aria-busy");
};

MapView.prototype.letPlay = function () {
  const player = this.root.querySelector(".player").value;
  this.command("let", { player, moves: Number(this.root.querySelector(".amount").value) });
};
