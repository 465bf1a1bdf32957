// The top layer: cursor, veil over the future, selection, ghosts, hover, window on the minimap.

function drawTop(context, axes, plan, look, state) {
  context.clearRect(0, 0, axes.width, axes.height);
  const time = plan.numMoves ? plan.move_time[state.move] : plan.numSlots;
  drawMiniWindow(context, axes, look.palette, time);
  within(context, axes, axes.top, axes.end, () => drawVeil(context, axes, look.palette, time + 1));
  within(context, axes, axes.top, axes.bottom, () => {
    if (state.selected >= 0) drawSelection(context, axes, plan, look, state.selected);
    drawLabels(context, look.labels, look.palette, axes.xOf(time + 1), state.selected);
    drawCurrent(context, axes, plan, look.palette, state.move);
    drawGhosts(context, axes, look.palette, state);
    if (state.hover >= 0) outline(context, boxOf(axes, plan, state.hover), look.palette.text, 2, []);
    drawArea(context, axes, look.palette, state.area);
  });
  within(context, axes, 0, axes.end, () => drawCursor(context, axes, look.palette, time));
}

function drawVeil(context, axes, palette, from) {
  const x = Math.max(LEFT, axes.xOf(from));
  context.fillStyle = mix(palette.background, 0.55);
  context.fillRect(x, axes.top, axes.width - RIGHT - x, axes.end - axes.top);
}

function drawCursor(context, axes, palette, time) {
  const x = axes.xOf(time),
    width = Math.max(1.5, axes.xOf(time + 1) - x);
  context.fillStyle = mix(palette.primary, width > 3 ? 0.16 : 0.9);
  context.fillRect(x, axes.top, width, axes.end - axes.top);
  context.fillStyle = palette.primary;
  context.fillRect(x, axes.top, 1.5, axes.end - axes.top);
  context.beginPath();
  context.moveTo(x - 6, 0);
  context.lineTo(x + 7, 0);
  context.lineTo(x + 7, 8);
  context.lineTo(x + 0.5, 15);
  context.lineTo(x - 6, 8);
  context.fill();
}

// The tensor of the current move, wherever it stands now.
function drawCurrent(context, axes, plan, palette, move) {
  if (!plan.numMoves) return;
  const stay = plan.stayOf(move);
  if (stay !== NONE) outline(context, boxOf(axes, plan, stay), palette.primary, 2.5, []);
}

function drawSelection(context, axes, plan, look, group) {
  const { palette } = look;
  context.fillStyle = mix(palette.background, 0.55);
  context.fillRect(LEFT, axes.top, axes.plotWidth, axes.plotHeight);
  let level = axes.top + 9;
  for (let i = 0; i < plan.numStays; i++) {
    const rect = plan.stay_group[i] === group && boxOf(axes, plan, i);
    if (!rect) continue;
    context.fillStyle = fillOf(plan, i, look);
    context.fillRect(...rect);
    outline(context, rect, palette.text, 1.5, []);
    level = middleOf(axes, rect);
  }
  for (let m = 0; m < plan.numMoves; m++) {
    if (plan.move_group[m] !== group) continue;
    const x = (axes.xOf(plan.move_time[m]) + axes.xOf(plan.move_time[m] + 1)) / 2;
    if (x < LEFT - 6 || x > axes.width) continue;
    const stay = plan.stayOf(m),
      rect = stay !== NONE && boxOf(axes, plan, stay);
    touchMark(context, palette, x, rect ? middleOf(axes, rect) : level, plan.move_action[m] === DROP);
  }
}

// A full disc: served from fast memory; a ring: from slow memory.
function touchMark(context, palette, x, y, isSlow) {
  context.beginPath();
  context.arc(x, y, 4.5, 0, 2 * Math.PI);
  context.fillStyle = isSlow ? palette.background : palette.text;
  context.fill();
  context.lineWidth = 2;
  context.strokeStyle = isSlow ? palette.red : palette.background;
  context.stroke();
}

function drawGhosts(context, axes, palette, state) {
  const { overlay } = state;
  if (!overlay || overlay.move !== state.move) return;
  context.font = `600 11px ${palette.font}`;
  context.textBaseline = "bottom";
  context.textAlign = "left";
  const tags = [],
    drawn = [];
  // Large ones first, so that a small one is not buried; one at the place of another inside it.
  for (const ghost of [...overlay.ghosts].sort((a, b) => areaOf(b) - areaOf(a))) {
    const [offset, size, start, end] = ghost.at;
    let rect = box(axes, start, end, offset, offset + size);
    if (!rect) continue;
    for (const other of drawn) if (isSame(rect, other)) rect = inside(rect);
    drawn.push(rect);
    const colour = palette[GHOSTS[ghost.tone]];
    // With the agent's opinion, more visits fill a ghost more, and a larger prior widens its line.
    const plain = ghost.other || ghost.displaced ? 0 : 0.14;
    const strength = ghost.blocks ? 0.7 : ghost.visits === undefined ? plain : 0.05 + 0.6 * ghost.visits;
    context.fillStyle = mix(colour, strength);
    context.fillRect(...rect);
    outline(context, rect, colour, ghostWidth(ghost), ghost.blocks ? [] : ghost.other ? [2, 4] : [6, 4]);
    tag(context, axes, palette, rect, ghost.label, colour, tags);
  }
}

const areaOf = ({ at: [, size, start, end] }) => size * (end - start);
const isSame = (one, other) => one.every((value, n) => Math.abs(value - other[n]) < 2);

function inside([x, y, width, height]) {
  const [dx, dy] = [Math.min(4, width / 4), Math.min(4, height / 4)];
  return [x + dx, y + dy, width - 2 * dx, height - 2 * dy];
}

// The width of a ghost's outline; half as wide at the other end, and
// around what would go.
function ghostWidth(ghost) {
  const width = ghost.prior === undefined ? 2 : 1 + 5 * ghost.prior;
  return ghost.other || ghost.displaced ? width / 2 : width;
}

// A ghost's label above its rectangle, beside one that is there already; left out without room.
function tag(context, axes, palette, rect, label, colour, tags) {
  if (!label) return;
  const width = context.measureText(label).width + 8,
    y = Math.max(axes.top + 16, rect[1]);
  const right = axes.width - RIGHT;
  let x = Math.max(LEFT, rect[0]);
  for (const t of [...tags].sort((a, b) => a.x - b.x)) {
    if (x < t.x + t.width && t.x < x + width && Math.abs(y - t.y) < 15) x = t.x + t.width + 2;
  }
  if (x + width > right || x > Math.max(LEFT, rect[0]) + 220) return;
  tags.push({ x, y, width });
  context.fillStyle = tagColour(palette, colour);
  context.fillRect(x, y - 15, width, 15);
  context.fillStyle = palette.background;
  context.fillText(label, x + 4, y - 1);
}

function outline(context, rect, colour, width, dash) {
  if (!rect) return;
  context.setLineDash(dash);
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.strokeRect(...rect);
  context.setLineDash([]);
}

function drawMiniWindow(context, axes, palette, time) {
  const { top, height } = axes.mini,
    span = axes.last - axes.first;
  const place = (unit) => LEFT + ((unit - axes.first) / span) * axes.plotWidth;
  const x = place(axes.x0),
    width = Math.max(3, place(axes.x1) - x);
  if (!axes.isWhole) {
    context.fillStyle = mix(palette.background, 0.6);
    context.fillRect(LEFT, top, x - LEFT, height);
    context.fillRect(x + width, top, axes.width - RIGHT - x - width, height);
  }
  outline(context, [x + 0.5, top + 0.5, width - 1, height - 1], mix(palette.text, 0.6), 1, []);
  context.fillStyle = palette.primary;
  context.fillRect(axes.miniX(time), top, 1.5, height);
}
