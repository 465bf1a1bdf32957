// The line as a film: what stands in fast memory now, and what each imagined move would place there.

const FILM_LEFT = 58,
  FILM_FOOT = 16,
  FILM_HEAD = 6,
  STEP_MS = 700;

class Film {
  constructor(canvas) {
    this.canvas = canvas;
  }

  // `line`: nodes; `shown`: the last one that is played out.
  draw(game, board, grown, line, shown, look) {
    const [pen, width, height] = fitCanvas(this.canvas);
    if (width < 120) return;
    Object.assign(this, { pen, width, height, game, board, look, bottom: height - FILM_FOOT });
    const acts = this.acts(grown, line.slice(0, MOST_STEPS));
    this.frameTime(acts);
    this.drawGround();
    pen.save();
    pen.beginPath();
    pen.rect(FILM_LEFT, 0, width - FILM_LEFT, this.bottom);
    pen.clip();
    const ends = this.endsOf(acts, shown);
    this.marks = new Map();
    this.drawStanding(ends, acts.slice(0, shown + 1));
    acts.forEach((act, i) => {
      if (i <= shown) this.drawAct(act, i === shown, ends.get(act));
    });
    pen.restore();
    this.drawCursor(acts[shown]);
    this.acted = acts.filter((act, i) => i <= shown && act.place).length;
  }

  acts(grown, line) {
    const { tree } = grown;
    return line.map((node) => {
      const [offset, size, start, end, until] = tree.place.subarray(5 * node, 5 * node + 5);
      const move = tree.move + tree.depth[node] - 1,
        group = this.game.move_group[move];
      return {
        node,
        move,
        group,
        time: this.game.move_time[move],
        action: tree.action[node],
        state: tree.state[node],
        support: grown.visits[node] / Math.max(1, grown.count),
        gone: tree.gone[node] ?? [],
        place: offset >= 0 ? { offset, size, start, end, until } : null,
      };
    });
  }

  // The window holds the line's moves and most of what they place.
  frameTime(acts) {
    const now = this.game.move_time[this.board.move] ?? this.game.numSlots;
    const times = acts.map((act) => act.time),
      ends = acts.map((act) => Math.min(act.place?.end ?? 0, act.time + 40));
    const starts = acts.map((act) => Math.max(act.place?.start ?? act.time, now - 40));
    const first = Math.min(now, ...starts),
      last = Math.max(now + 8, ...times, ...ends);
    const pad = Math.max(2, 0.08 * (last - first));
    [this.first, this.last, this.now] = [first - pad, last + pad, now];
  }

  x(slot) {
    return FILM_LEFT + ((slot - this.first) / (this.last - this.first)) * (this.width - FILM_LEFT);
  }
  y(granule) {
    return this.bottom - (granule / this.game.fast_granules) * (this.bottom - FILM_HEAD);
  }

  // Slots at which a shown move ends a block: per standing block's group, and per act.
  endsOf(acts, shown) {
    const ends = new Map(),
      latest = new Map();
    acts.slice(0, shown + 1).forEach((act) => {
      for (const group of act.gone) ends.set(latest.get(group) ?? group, act.time);
      if (act.place) latest.set(act.group, act);
    });
    return ends;
  }

  drawGround() {
    const {
      pen,
      game,
      look: { palette, patterns },
    } = this;
    pen.fillStyle = mix(palette["secondary-background"], 0.6);
    pen.fillRect(FILM_LEFT, FILM_HEAD, this.width - FILM_LEFT, this.bottom - FILM_HEAD);
    pen.font = `10.5px ${palette.font}`;
    pen.textBaseline = "middle";
    for (let part = 0; part <= 4; part++) {
      const y = Math.round(this.y((game.fast_granules * part) / 4));
      pen.fillStyle = mix(palette.border, 0.8);
      pen.fillRect(FILM_LEFT, y, this.width - FILM_LEFT, 1);
      pen.fillStyle = mix(palette.text, 0.65);
      pen.textAlign = "right";
      pen.fillText(
        part ? sizeText((game.fast_granules * game.granule * part) / 4) : "0",
        FILM_LEFT - 5,
        Math.min(this.bottom - 5, Math.max(FILM_HEAD + 5, y)),
      );
    }
    pen.fillStyle = patterns.scratch;
    for (let k = Math.max(0, Math.floor(this.first)); k < Math.min(game.numSlots, this.last); k++) {
      const height = game.slot_reserved[k];
      if (height)
        pen.fillRect(
          Math.max(FILM_LEFT, this.x(k)),
          this.y(height),
          this.x(k + 1) - this.x(k) + 0.5,
          this.bottom - this.y(height),
        );
    }
  }

  box(start, end, offset, size) {
    const x = Math.max(FILM_LEFT - 2, this.x(start)),
      y = this.y(offset + size);
    return [x, y, Math.max(1.5, Math.min(this.width + 2, this.x(end)) - x), Math.max(3, this.y(offset) - y)];
  }

  drawStanding(ends, played) {
    const {
        pen,
        look: { palette },
      } = this,
      moved = new Set(played.filter((a) => a.place).map((a) => a.group));
    for (const block of this.board.standing) {
      const cut = ends.get(block.group) ?? Infinity,
        end = Math.min(block.end, Math.max(cut, this.now));
      pen.fillStyle = mix(palette.gray, 0.34);
      const rect = this.box(block.start, end, block.offset, block.size);
      pen.fillRect(...rect);
      pen.strokeStyle = mix(palette.gray, 0.8);
      pen.lineWidth = 1;
      pen.strokeRect(...rect);
      if (block.isLive && !moved.has(block.group)) {
        // It would like to stay, but a newcomer may take its place.
        pen.fillStyle = mix(palette.gray, 0.12);
        const tail = this.box(end, Math.min(cut, this.last), block.offset, block.size);
        if (cut > end) pen.fillRect(...tail);
      }
      this.name(this.game.group_names[block.group], rect);
    }
  }

  drawAct(act, isLatest, cut = Infinity) {
    const {
        pen,
        look: { palette },
      } = this,
      colour = palette[toneOf(act.action)];
    if (!act.place) {
      this.mark(act, colour);
      return;
    }
    const { start, end, until, offset, size } = act.place;
    const rect = this.box(start, Math.min(end, Math.max(cut, start + 1)), offset, size);
    pen.fillStyle = mix(colour, 0.16 + 0.6 * act.support);
    pen.fillRect(...rect);
    if (cut === Infinity && until > end) {
      pen.fillStyle = mix(colour, 0.06 + 0.14 * act.support);
      pen.fillRect(...this.box(end, until, offset, size));
    }
    pen.strokeStyle = isLatest ? palette.text : colour;
    pen.lineWidth = isLatest ? 2 : 1.5;
    pen.setLineDash(act.support < 0.5 ? [4, 3] : []);
    pen.strokeRect(...rect);
    pen.setLineDash([]);
    if (rect[3] >= 12) this.name(this.game.group_names[act.group], rect);
    else if (isLatest) this.tag(`${this.game.group_names[act.group]} · ${sizeText(size * this.game.granule)}`, rect);
  }

  // Marks an action that places nothing: a ring for Drop, a cross for one that the rules forbid.
  mark(act, colour) {
    const { pen } = this,
      x = this.x(act.time + 0.5),
      above = this.marks.get(act.time) ?? 0,
      y = FILM_HEAD + 8 + 11 * above;
    this.marks.set(act.time, above + 1);
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.beginPath();
    if (act.state === ILLEGAL) {
      pen.moveTo(x - 4, y - 4);
      pen.lineTo(x + 4, y + 4);
      pen.moveTo(x + 4, y - 4);
      pen.lineTo(x - 4, y + 4);
    } else pen.arc(x, y, 4, 0, 2 * Math.PI);
    pen.stroke();
  }

  // Writes the name above a block that is too flat to hold it, below it at the upper edge.
  tag(text, [x, y, , height]) {
    const {
        pen,
        look: { palette },
      } = this,
      left = Math.max(x, FILM_LEFT) + 2,
      top = y < 17 ? y + height + 3 : y - 17;
    pen.font = `10.5px ${palette.font}`;
    pen.textAlign = "left";
    pen.fillStyle = palette.background;
    pen.fillRect(left - 2, top, pen.measureText(text).width + 6, 14);
    pen.fillStyle = palette.text;
    pen.fillText(text, left + 1, top + 7);
  }

  name(text, [x, y, width, height]) {
    const {
      pen,
      look: { palette },
    } = this;
    if (height < 12 || width < 30) return;
    pen.font = `10.5px ${palette.font}`;
    pen.textAlign = "left";
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width - 2, height);
    pen.clip();
    writeOnPale(pen, palette, text, Math.max(x, FILM_LEFT) + 3, y + height / 2);
    pen.restore();
  }

  drawCursor(act) {
    const {
        pen,
        game,
        look: { palette },
      } = this,
      time = act?.time ?? this.now,
      x = this.x(time);
    pen.fillStyle = mix(palette.primary, 0.2);
    pen.fillRect(x, FILM_HEAD, Math.max(2, this.x(time + 1) - x), this.bottom - FILM_HEAD);
    pen.fillStyle = palette.primary;
    pen.fillRect(x, FILM_HEAD, 1.5, this.bottom - FILM_HEAD);
    pen.fillStyle = mix(palette.text, 0.75);
    pen.font = `10.5px ${palette.font}`;
    pen.textAlign = x > this.width - 140 ? "right" : "left";
    pen.fillText(`slot ${time.toLocaleString("en")} · ${game.instruction(time)}`, x, this.height - 7);
  }
}
