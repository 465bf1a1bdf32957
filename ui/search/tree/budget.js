// How the visits of the root's actions grow with the simulations, and where the choice flipped.

const BUDGET_EDGE = 30;

class BudgetChart {
  constructor(canvas) {
    this.canvas = canvas;
  }

  x(k) {
    return BUDGET_EDGE + (k / Math.max(1, this.tree.last)) * (this.width - BUDGET_EDGE - 8);
  }
  countAt(x) {
    return Math.round(((x - BUDGET_EDGE) / (this.width - BUDGET_EDGE - 8)) * this.tree.last);
  }

  draw(tree, count, palette) {
    const [pen, width, height] = fitCanvas(this.canvas);
    Object.assign(this, { tree, width });
    if (width < 80) return;
    const bottom = height - 4,
      top = 12,
      most = Math.max(1, ...tree.history.map((h) => h[tree.last]));
    const y = (visits) => bottom - (visits / most) * (bottom - top);
    pen.font = `10.5px ${palette.font}`;
    pen.fillStyle = paleText(palette);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(most.toLocaleString("en"), BUDGET_EDGE - 4, top);
    pen.fillText("0", BUDGET_EDGE - 4, bottom - 3);
    pen.fillStyle = mix(palette.gray, 0.1);
    pen.fillRect(BUDGET_EDGE, top, width - BUDGET_EDGE - 8, bottom - top);
    this.drawFlips(pen, tree, palette, top, bottom);
    const step = Math.max(1, Math.floor(tree.last / width));
    tree.history.forEach((visits, action) => {
      if (!tree.legal[action] && !visits[tree.last]) return;
      pen.strokeStyle = palette[toneOf(action)];
      pen.setLineDash(isOtherEnd(action) ? [4, 3] : []);
      pen.lineWidth = 2;
      pen.beginPath();
      for (let k = 0; k <= tree.last; k += step) pen.lineTo(this.x(k), y(visits[k]));
      pen.lineTo(this.x(tree.last), y(visits[tree.last]));
      pen.stroke();
    });
    pen.setLineDash([]);
    pen.fillStyle = palette.primary;
    pen.fillRect(this.x(count) - 1, top - 4, 2, bottom - top + 6);
  }

  // The band on top says which action leads; a mark stands where another one came to lead.
  drawFlips(pen, tree, palette, top, bottom) {
    const edges = [0, ...tree.flips, tree.last];
    for (let i = 0; i + 1 < edges.length; i++) {
      const lead = tree.leads[edges[i]];
      if (lead < 0) continue;
      pen.fillStyle = inkOf(palette, lead);
      pen.fillRect(this.x(edges[i]), top - 6, this.x(edges[i + 1]) - this.x(edges[i]), 4);
    }
    const last = tree.flips.at(-1);
    if (last === undefined) return;
    const x = this.x(last);
    pen.strokeStyle = mix(palette.text, 0.55);
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(x, top - 6);
    pen.lineTo(x, bottom);
    pen.stroke();
    pen.setLineDash([]);
  }
}

// A text on which action leads, and since which simulation.
function flipText(tree) {
  const { flips, leads, last } = tree,
    name = ACTIONS[leads[last]] ?? "nothing";
  if (!flips.length) return `${name} leads from the start`;
  const at = flips.at(-1),
    before = ACTIONS[leads[at - 1]];
  const others = flips.length > 1 ? `, ${flips.length} flips in all` : "";
  return `last flip at ${at.toLocaleString("en")}: ${before} → ${name}${others}`;
}
