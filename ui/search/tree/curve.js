// The agent's forecasts of the whole game, move by move, as absolute saved time.

const CURVE_LEFT = 76,
  CURVE_RIGHT = 8,
  CURVE_TOP = 6,
  CURVE_FOOT = 6;
const LINES = [
  ["par", "gray", "if the rest went at par"],
  ["raw", "violet", "networks alone"],
  ["search", "blue", "after the search"],
];

class ValueCurve {
  constructor(canvas) {
    [this.canvas, this.mode] = [canvas, "total"];
  }

  // The curves to draw. Above par, par is zero, and the real gain of the game's rest is a curve.
  series() {
    const { game } = this,
      minusPar = (values) => values.map((v, m) => v - game.par[m]);
    if (this.mode === "total") return LINES.map(([name, tone]) => [game[name], tone, name === "par" ? [4, 3] : []]);
    const earned = game.par.map((par) => game.final - par);
    return [
      [earned, "green", []],
      [minusPar(game.raw), "violet", []],
      [minusPar(game.search), "blue", []],
    ];
  }

  x(move) {
    return CURVE_LEFT + (move / Math.max(1, this.game.numMoves)) * (this.width - CURVE_LEFT - CURVE_RIGHT);
  }
  moveAt(x) {
    const share = (x - CURVE_LEFT) / (this.width - CURVE_LEFT - CURVE_RIGHT);
    return Math.max(0, Math.min(this.game.numMoves - 1, Math.round(share * this.game.numMoves)));
  }

  draw(game, move, look) {
    const [pen, width, height] = fitCanvas(this.canvas),
      { palette } = look;
    Object.assign(this, { pen, width, height, game, palette });
    if (width < 160) return;
    const series = this.series(),
      isTotal = this.mode === "total";
    this.range(series, isTotal);
    this.drawAxis(isTotal);
    for (const [values, tone, dash] of series) this.drawLine(values, palette[tone], dash);
    if (isTotal) this.level(game.final, palette.green, [], 1.5);
    else this.level(0, palette.gray, [4, 3], 1.2);
    this.drawSurprises();
    this.drawMarks();
    pen.fillStyle = palette.primary;
    pen.fillRect(this.x(move) - 1, 0, 2, height);
  }

  // The range of values. Forecasts lie near the final saving; the saving so far would flatten them.
  range(series, isTotal) {
    const { game } = this,
      fixed = isTotal ? game.final : 0;
    const values = [fixed, ...series.flatMap(([column]) => [...column])].sort((a, b) => a - b);
    const at = (share) => values[Math.floor(share * (values.length - 1))];
    // A few wild guesses of an untrained network must not flatten the rest.
    let [low, high] = [Math.min(at(0.01), fixed), Math.max(at(0.99), fixed)];
    if (isTotal && game.best_possible !== null && game.best_possible < high + 0.6 * (high - low))
      high = Math.max(high, game.best_possible);
    const pad = 0.06 * (high - low) || Math.abs(high) * 0.01 || 1e-9;
    [this.low, this.high] = [low - pad, high + pad];
  }

  y(seconds) {
    const share = (seconds - this.low) / (this.high - this.low);
    return this.height - CURVE_FOOT - Math.max(-0.02, Math.min(1.02, share)) * (this.height - CURVE_TOP - CURVE_FOOT);
  }

  drawAxis(isTotal) {
    const { pen, palette, width } = this;
    pen.font = `10.5px ${palette.font}`;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (let part = 0; part <= 2; part++) {
      const value = this.low + (this.high - this.low) * (0.1 + 0.4 * part),
        y = Math.round(this.y(value));
      pen.fillStyle = mix(palette.border, 0.7);
      pen.fillRect(CURVE_LEFT, y, width - CURVE_LEFT - CURVE_RIGHT, 1);
      pen.fillStyle = mix(palette.text, 0.65);
      pen.fillText(isTotal && value >= 0 ? timeText(value) : signedTime(value), CURVE_LEFT - 6, y);
    }
    if (isTotal && this.game.best_possible !== null) this.level(this.game.best_possible, palette.text, [2, 3], 1);
  }

  level(seconds, colour, dash, thick) {
    const { pen } = this;
    if (seconds < this.low || seconds > this.high) return;
    this.stroke(colour, dash, thick);
    pen.moveTo(CURVE_LEFT, this.y(seconds));
    pen.lineTo(this.width - CURVE_RIGHT, this.y(seconds));
    pen.stroke();
    pen.setLineDash([]);
  }

  stroke(colour, dash, thick) {
    const { pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = thick;
    pen.setLineDash(dash);
    pen.beginPath();
  }

  drawLine(values, colour, dash) {
    this.stroke(colour, dash, 1.6);
    const step = Math.max(1, Math.floor(values.length / (2 * this.width)));
    for (let m = 0; m < values.length; m += step) this.pen.lineTo(this.x(m), this.y(values[m]));
    this.pen.stroke();
    this.pen.setLineDash([]);
  }

  // The moves of the inbox, the most surprising one tallest.
  drawSurprises() {
    const { pen, game, palette } = this,
      most = game.surprise[game.surprising[0]] || 1;
    for (const move of game.surprising) {
      const size = 3 + 3.5 * Math.sqrt(game.surprise[move] / most),
        x = this.x(move);
      pen.fillStyle = palette.orange;
      pen.beginPath();
      pen.moveTo(x, this.height);
      pen.lineTo(x - size, this.height - 2 * size);
      pen.lineTo(x + size, this.height - 2 * size);
      pen.fill();
    }
  }

  // Classes of moves, the worst on top; each is written as well as coloured.
  drawMarks() {
    const { pen, game, palette } = this;
    for (const kind of [3, 2, 1]) {
      for (let move = 0; move < game.numMoves; move++) {
        if (game.move_class[move] !== kind) continue;
        const x = this.x(move);
        pen.fillStyle = palette[MARK_TONES[kind]];
        pen.fillRect(x - 1, 0, 2, this.height);
        pen.font = `700 11px ${palette.font}`;
        pen.textAlign = "center";
        pen.textBaseline = "top";
        const wide = pen.measureText(MARKS[kind]).width + 4;
        pen.fillStyle = palette.background;
        pen.fillRect(x - wide / 2, 0, wide, 13);
        pen.fillStyle = mix(palette.text, 0.95);
        pen.fillText(MARKS[kind], x, 1);
      }
    }
  }
}

function curveLegend(game, palette, mode) {
  const line = (style, text) => `<span><i style="border-top:2px ${style}"></i>${text}</span>`;
  const isTotal = mode === "total";
  const items = [
    line(
      `solid ${palette.green}`,
      isTotal ? `what the game saved: <b>${timeText(game.final)}</b>` : "what the rest really earned above par",
    ),
  ];
  for (const [name, tone, text] of LINES.toReversed())
    items.push(line(`${name === "par" ? "dashed" : "solid"} ${palette[tone]}`, text));
  if (isTotal && game.best_possible !== null)
    items.push(line(`dotted ${palette.text}`, `at most ${timeText(game.best_possible)} (bound)`));
  items.push(`<span><i class="mark" style="color:${palette.orange}">▼</i>surprising moves</span>`);
  for (const kind of [1, 2, 3])
    if (game.move_class.includes(kind))
      items.push(
        `<span><i class="mark" style="color:${palette[MARK_TONES[kind]]}">▮</i>${termHtml(MARKS[kind])}</span>`,
      );
  return items.join("");
}

function curveCard(game, move) {
  return cardOf(`Move ${(move + 1).toLocaleString("en")}`, [
    ["", game.sentence(move)],
    ["played", `${ACTIONS[game.move_action[move]]} ${game.mark(move)}`],
    ["saved so far", timeText(Math.max(0, game.so_far[move]))],
    ["the search expects", timeText(game.search[move])],
    ["the networks alone", timeText(game.raw[move])],
    ["at par", timeText(game.par[move])],
    ["surprise", `${game.surprise[move].toFixed(1)} × the average move`],
  ]);
}
