// The state that the map sends Python: its cursor, and commands, one after another.

const COMMIT_MS = 140,
  ANSWER_MS = 15_000;

// Sends the cursor when the hand rests, not at every step on the way.
MapView.prototype.commit = function () {
  clearTimeout(this.timer);
  this.timer = setTimeout(() => {
    if (!this.film) this.tell();
  }, COMMIT_MS);
};

MapView.prototype.tell = function () {
  if (this.tour) return;
  const { plan, state, nonce, order } = this;
  const cursor = { plan: plan.id, held: plan.version, move: state.move, selected: state.selected, nonce };
  this.send("cursor", order ? { ...cursor, command: order } : cursor);
};

// A command for Python (ui/play/commands.py); the next one waits for the answer to this one.
MapView.prototype.command = function (name, given = {}) {
  if (this.tour) return;
  if (this.film) this.stop();
  if (this.order) {
    this.orders.push([name, given]);
    return;
  }
  clearTimeout(this.timer);
  this.serial = Math.max(Date.now(), (this.serial ?? 0) + 1);
  this.order = { ...given, do: name, serial: this.serial, move: this.state.move };
  this.root.setAttribute("aria-busy", "true");
  this.patience = setTimeout(() => this.answered(this.serial), ANSWER_MS);
  this.tell();
};

MapView.prototype.answered = function (serial) {
  if (!this.order || serial !== this.order.serial) return;
  clearTimeout(this.patience);
  this.order = null;
  this.root.removeAttribute("aria-busy");
  if (this.orders.length) this.command(...this.orders.shift());
};

MapView.prototype.letPlay = function () {
  const player = this.root.querySelector(".player").value;
  this.command("let", { player, moves: Number(this.root.querySelector(".amount").value) });
};
