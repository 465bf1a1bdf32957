// A search tree that grows again: nodes are in the order of their creation, so that after n
// simulations it is nodes 0 to n, each as often visited as it has descendants (itself included).

const NUM_ACTIONS = ACTIONS.length;

class Tree {
  // `root`: the header of the search; `columns`: its arrays, one entry per node; `move`: the move
  // at the root, of `length` in the game; `played`: the actions of the game. The tree ends where the
  // game ends: what the search grew behind that still counts as visits, but is nobody's child.
  constructor(root, columns, move, length, played = []) {
    Object.assign(this, root, columns);
    this.move = move;
    this.size = this.parent.length;
    this.last = this.size - 1;
    this.depth = new Uint16Array(this.size);
    this.gained = new Float64Array(this.size);
    this.children = Array.from({ length: this.size }, () => []);
    this.movesLeft = length - move;
    this.isPlayed = new Uint8Array(this.size);
    this.isPlayed[0] = 1;
    for (let i = 1; i < this.size; i++) {
      const up = this.parent[i];
      this.depth[i] = this.depth[up] + 1;
      this.gained[i] = this.gained[up] + this.reward[i];
      this.isPlayed[i] = this.isPlayed[up] && this.action[i] === played[move + this.depth[up]];
      if (!this.isBehind(i)) this.children[up].push(i);
    }
    for (const list of this.children) list.sort((a, b) => this.action[a] - this.action[b]);
    this.remember();
  }

  // Whether the game is over at a node: nothing is to come, whatever the networks say.
  isOver(node) {
    return this.depth[node] >= this.movesLeft;
  }

  // Whether a node lies behind the end of the game, where there is nothing to decide.
  isBehind(node) {
    return this.depth[node] > this.movesLeft;
  }

  // The prior of an action at the root, above zero so that it has a logarithm.
  priorOf(action) {
    return Math.max(1e-9, this.policies.prior[action]);
  }

  get deepest() {
    return Math.min(
      this.movesLeft,
      this.depth.reduce((a, b) => Math.max(a, b), 0),
    );
  }

  // Visits and mean values after `count` simulations, as mctx backs them up.
  grow(count, each) {
    const visits = new Uint32Array(this.size),
      value = new Float64Array(this.size);
    [visits[0], value[0]] = [1, this.raw[0]];
    for (let k = 1; k <= count; k++) {
      let leafValue = this.raw[k];
      [visits[k], value[k]] = [1, leafValue];
      for (let node = k; node > 0; node = this.parent[node]) {
        const up = this.parent[node];
        leafValue = this.reward[node] + (this.isOver(node) ? 0 : leafValue);
        value[up] = (value[up] * visits[up] + leafValue) / (visits[up] + 1);
        visits[up]++;
      }
      each?.(k, visits, value);
    }
    return new Grown(this, count, visits, value);
  }

  // The root's children over all budgets, and where another action came to lead.
  remember() {
    const seen = (this.history = Array.from({ length: NUM_ACTIONS }, () => new Uint32Array(this.size)));
    const leads = (this.leads = new Int8Array(this.size));
    const at = (k, visits, value) => {
      const grown = new Grown(this, k, visits, value);
      for (let a = 0; a < NUM_ACTIONS; a++) seen[a][k] = grown.visitsOf(a);
      leads[k] = grown.leader;
    };
    this.whole = this.grow(0, at);
    at(0, this.whole.visits, this.whole.value);
    this.whole = this.grow(this.last, at);
    this.flips = [];
    for (let k = 1; k < this.size; k++) if (leads[k] !== leads[k - 1]) this.flips.push(k);
    this.spread = this.largestDifference();
  }

  // The end of the colour scale: the same at every budget, so that scrubbing does not repaint all.
  largestDifference() {
    let most = 0;
    for (let i = 1; i < this.size; i++) {
      if (this.whole.visits[i] >= FEW_VISITS || !this.parent[i]) most = Math.max(most, Math.abs(this.whole.lead(i)));
    }
    return most || 1e-9;
  }

  // Seconds by which the model imagines the way to a node better than it is; null: not known.
  error(node) {
    return this.state[node] === LEGAL && node ? this.reward[node] * this.point_s - this.real[node] : null;
  }
}

const FEW_VISITS = 2;

// The tree after `count` simulations.
class Grown {
  constructor(tree, count, visits, value) {
    Object.assign(this, { tree, count, visits, value });
  }

  childOf(node, action) {
    return this.tree.children[node].find((c) => this.tree.action[c] === action && this.visits[c] > 0) ?? NONE;
  }
  visitsOf(action) {
    const child = this.childOf(0, action);
    return child < 0 ? 0 : this.visits[child];
  }

  // The worth of the line through a node from the root on, in points above par.
  worth(node) {
    return this.tree.gained[node] + (node && this.tree.isOver(node) ? 0 : this.value[node]);
  }
  lead(node) {
    return this.worth(node) - this.value[0];
  }
  worthOf(action) {
    const child = this.childOf(0, action);
    return child < 0 ? null : this.worth(child);
  }

  // Logits of Gumbel MuZero's improved policy (Danihelka et al. 2022, eqs. 10, 11 and 33), as the search has them.
  logits() {
    const { tree } = this,
      actions = [...Array(NUM_ACTIONS).keys()],
      counts = actions.map((a) => this.visitsOf(a));
    const total = counts.reduce((a, b) => a + b, 0),
      seen = actions.filter((a) => counts[a]);
    const mass = seen.reduce((sum, a) => sum + tree.priorOf(a), 0);
    const mean = seen.reduce((sum, a) => sum + tree.priorOf(a) * this.worthOf(a), 0) / (mass || 1);
    const mixed = (tree.raw[0] + total * mean) / (total + 1);
    const scale = (tree.maxvisit_init + Math.max(...counts)) * tree.value_scale;
    return actions.map((a) =>
      tree.legal[a] ? Math.log(tree.priorOf(a)) + scale * (counts[a] ? this.worthOf(a) : mixed) : -Infinity,
    );
  }

  // The improved policy; null where it is not known for this budget.
  get policy() {
    const { tree } = this;
    if (this.count === tree.last) return tree.policies.improved;
    if (tree.algorithm !== "gumbel") return null;
    const logits = this.logits(),
      top = Math.max(...logits),
      parts = logits.map((x) => Math.exp(x - top));
    const sum = parts.reduce((a, b) => a + b, 0);
    return parts.map((x) => x / sum);
  }

  // The action that the search favours now. Gumbel MuZero gives its visits by a schedule, so its
  // improved policy counts; otherwise the visits, then the worth, then the prior.
  get leader() {
    const { tree } = this,
      actions = [...Array(NUM_ACTIONS).keys()].filter((a) => tree.legal[a]);
    const logits = tree.algorithm === "gumbel" ? this.logits() : null;
    const ahead = (a, b) =>
      logits
        ? logits[a] - logits[b]
        : this.visitsOf(a) - this.visitsOf(b) ||
          (this.worthOf(a) ?? -1e9) - (this.worthOf(b) ?? -1e9) ||
          tree.priorOf(a) - tree.priorOf(b);
    return actions.reduce((best, a) => (best < 0 || ahead(a, best) > 0 ? a : best), NONE);
  }

  // The nodes of a line: the way to `node`, then always the most visited child.
  line(node) {
    const way = [];
    for (let i = node; i > 0; i = this.tree.parent[i]) way.unshift(i);
    let tip = node;
    if (!node) {
      tip = this.childOf(0, this.leader);
      if (tip < 0) return [];
      way.push(tip);
    }
    for (;;) {
      const next = this.tree.isOver(tip) ? NONE : this.favourite(tip);
      if (next < 0) return way;
      way.push((tip = next));
    }
  }

  favourite(node) {
    let best = NONE;
    for (const child of this.tree.children[node]) {
      if (this.visits[child] && (best < 0 || this.visits[child] > this.visits[best])) best = child;
    }
    return best;
  }
}
