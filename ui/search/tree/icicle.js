// The tree as an icicle: a row per move, a node as wide as its share of the visits.

const GUTTER = 44,
  ROW_MOST = 25,
  ROW_LEAST = 15,
  TAIL_PX = 0.6;

class Icicle {
  constructor(canvas) {
    this.canvas = canvas;
    this.reset();
  }

  reset() {
    [this.left, this.right, this.top] = [0, 1, 0];
  }

  get isWhole() {
    return this.left === 0 && this.right === 1 && this.top === 0;
  }

  load(tree, game) {
    [this.tree, this.game] = [tree, game];
    this.begin = new Float64Array(tree.size);
    this.end = new Float64Array(tree.size);
    this.reset();
  }

  place(grown) {
    const { tree, begin, end } = this,
      { visits } = grown;
    [begin[0], end[0]] = [0, 1];
    for (let node = 0; node <= grown.count; node++) {
      let at = begin[node];
      const one = (end[node] - begin[node]) / visits[node];
      for (const child of tree.children[node]) {
        begin[child] = at;
        at += one * visits[child];
        end[child] = at;
      }
    }
    this.grown = grown;
  }

  get rowHeight() {
    return Math.max(ROW_LEAST, Math.min(ROW_MOST, this.height / (this.tree.deepest + 1)));
  }
  get rows() {
    return Math.floor(this.height / this.rowHeight);
  }

  x(share) {
    return GUTTER + ((share - this.left) / (this.right - this.left)) * (this.width - GUTTER);
  }

  // Fills the width with a node, its parent on top.
  zoomTo(node) {
    [this.left, this.right] = [this.begin[node], this.end[node]];
    this.top = Math.max(0, this.tree.depth[node] - 1);
  }

  zoom(factor, x) {
    const at = this.left + ((x - GUTTER) / (this.width - GUTTER)) * (this.right - this.left);
    const span = Math.min(1, Math.max(2 / this.tree.size / 50, (this.right - this.left) * factor));
    const left = at - ((at - this.left) * span) / (this.right - this.left);
    this.left = Math.max(0, Math.min(1 - span, left));
    this.right = this.left + span;
  }

  pan(dx, rows) {
    const by = (dx / (this.width - GUTTER)) * (this.right - this.left);
    const shift = Math.max(-this.left, Math.min(1 - this.right, by));
    this.left += shift;
    this.right += shift;
    this.top = Math.max(0, Math.min(this.tree.deepest + 1 - this.rows, this.top + rows));
  }

  // Brings a node into sight.
  reveal(node) {
    const depth = this.tree.depth[node];
    if (depth < this.top || depth >= this.top + this.rows) this.top = Math.max(0, depth - this.rows + 2);
    if (this.end[node] <= this.left || this.begin[node] >= this.right) this.zoomTo(Math.max(0, this.tree.parent[node]));
  }

  draw(look, state) {
    const [pen, width, height] = fitCanvas(this.canvas);
    Object.assign(this, { pen, width, height });
    if (!this.tree || !this.grown || width < 80) return;
    this.drawRows(look);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, 0, width - GUTTER, height);
    pen.clip();
    this.drawNodes(look);
    for (const node of state.line) this.frame(node, look.palette.text, 1.5);
    if (state.hover > 0) this.frame(state.hover, look.palette.text, 2);
    if (state.selected > 0) this.frame(state.selected, look.palette.primary, 3);
    pen.restore();
  }

  // Writes on the left of each row the number of the move that it decides.
  drawRows({ palette }) {
    const { pen, tree } = this;
    pen.font = `11px ${palette.font}`;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillStyle = paleText(palette);
    for (let row = 0; row <= this.rows; row++) {
      const depth = Math.floor(this.top) + row,
        y = (row + 0.5) * this.rowHeight;
      if (depth > tree.deepest || y > this.height - 4) break;
      pen.fillText(depth ? (tree.move + depth).toLocaleString("en") : "now", GUTTER - 6, y);
    }
  }

  drawNodes(look) {
    const { pen, tree, grown, rowHeight } = this,
      drawn = new Map();
    this.look = look;
    for (let node = 0; node <= grown.count; node++) {
      const row = tree.depth[node] - Math.floor(this.top);
      if (
        tree.isBehind(node) ||
        row < 0 ||
        row * rowHeight > this.height ||
        this.end[node] <= this.left ||
        this.begin[node] >= this.right
      )
        continue;
      const x = this.x(this.begin[node]),
        width = this.x(this.end[node]) - x;
      if (width < TAIL_PX) {
        // Of nodes narrower than a pixel the first stands for all.
        const pixel = Math.floor(x),
          key = row * 65536 + pixel;
        if (drawn.has(key)) continue;
        drawn.set(key, node);
      }
      this.drawNode(node, x, row * rowHeight, width);
    }
  }

  drawNode(node, x, y, width) {
    const { pen, grown, look, rowHeight } = this,
      isThin = grown.visits[node] < FEW_VISITS && grown.count > FEW_VISITS;
    const tall = rowHeight - 1.5,
      wide = Math.max(1, width - (width > 4 ? 1.5 : 0));
    pen.globalAlpha = isThin ? 0.45 : 1;
    pen.fillStyle = look.paint.fill(node, grown, look.palette, look.patterns);
    pen.fillRect(x, y, wide, tall);
    if (this.tree.state[node] === ILLEGAL) this.drawIllegal(x, y, wide, tall);
    if (node) {
      pen.fillStyle = inkOf(look.palette, this.tree.action[node]);
      pen.fillRect(x, y, wide, 3);
    }
    pen.globalAlpha = 1;
    if (width > 34)
      this.label(node, Math.max(GUTTER, x), y + 1 + tall / 2, Math.min(x + width, this.width) - Math.max(GUTTER, x));
  }

  // Draws an illegal node, which is only imagined: hatched in any colouring, and crossed out.
  drawIllegal(x, y, wide, tall) {
    const { pen, look } = this;
    pen.fillStyle = look.palette.background;
    pen.fillRect(x, y, wide, tall);
    pen.fillStyle = look.patterns.illegal;
    pen.fillRect(x, y, wide, tall);
  }

  label(node, x, y, room) {
    const {
        pen,
        tree,
        grown,
        look: { palette },
      } = this,
      name = node ? this.nameOf(node) : `${grown.count.toLocaleString("en")} simulations`;
    pen.font = `11px ${palette.font}`;
    pen.textAlign = "left";
    const full = node
      ? `${name}  ${grown.visits[node].toLocaleString("en")}×  ${signedTime(grown.lead(node) * tree.point_s)}`
      : name;
    const text = [full, node ? `${name} ${grown.visits[node]}×` : "", name].find(
      (t) => t && pen.measureText(t).width < room - 8,
    );
    if (!text) return;
    if (tree.state[node] === ILLEGAL) {
      pen.fillStyle = mix(palette.background, 0.8);
      pen.fillRect(x + 2, y - 7, pen.measureText(text).width + 4, 14);
    }
    writeOnPale(pen, palette, text, x + 4, y);
  }

  // The action; crossed out where the rules forbid it, with its class where the game played it.
  nameOf(node) {
    const { tree, game } = this,
      name = shortAction(tree.action[node]);
    if (tree.state[node] === ILLEGAL) return `✗ ${name}`;
    const mark = tree.isPlayed[node] ? game.mark(tree.move + tree.depth[node] - 1) : "";
    return mark ? `${name} ${mark}` : name;
  }

  frame(node, colour, width) {
    const { pen, rowHeight, grown } = this,
      row = this.tree.depth[node] - Math.floor(this.top);
    if (node > grown.count || row < 0) return;
    const x = this.x(this.begin[node]);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.strokeRect(x + 0.5, row * rowHeight + 0.5, Math.max(1.5, this.x(this.end[node]) - x - 2), rowHeight - 2.5);
  }

  pick(x, y) {
    if (x < GUTTER || !this.grown) return NONE;
    const depth = Math.floor(y / this.rowHeight) + Math.floor(this.top);
    const at = this.left + ((x - GUTTER) / (this.width - GUTTER)) * (this.right - this.left);
    for (let node = 0; node <= this.grown.count; node++) {
      if (this.tree.depth[node] === depth && !this.tree.isBehind(node) && this.begin[node] <= at && at < this.end[node])
        return node;
    }
    return NONE;
  }
}
