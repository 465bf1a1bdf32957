// The base layer: grid, scratch, stays and copies; redrawn when the window or the colours change.

const LABELS = 300,
  LEAST_LETTERS = 3,
  MOST_DIGITS = 12;

function drawBase(context, axes, plan, look) {
  context.clearRect(0, 0, axes.width, axes.height);
  drawGrid(context, axes, plan, look.palette);
  within(context, axes, axes.top, axes.bottom, () => {
    drawScratch(context, axes, plan, look);
    drawStays(context, axes, plan, look);
    drawCopies(context, axes, plan, look);
    look.labels = labelsOf(context, axes, plan, look.palette);
    drawLimit(context, axes, plan, look.palette);
  });
  drawRegions(context, axes, plan, look.palette);
  drawTimes(context, axes, plan, look);
  drawLanes(context, axes, plan, look.palette);
  drawCurve(context, axes, plan, look);
  drawMini(context, axes, plan, look.palette);
}

// What `draw` draws shows only between these heights, and not beside the plot.
function within(context, axes, top, bottom, draw) {
  context.save();
  context.beginPath();
  context.rect(LEFT, top, axes.plotWidth, bottom - top);
  context.clip();
  draw();
  context.restore();
}

function drawGrid(context, axes, plan, palette) {
  context.font = `11px ${palette.font}`;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  const granules = ticksOf(Math.max(0, axes.y0), Math.min(axes.y1, plan.fast_granules), 7, 2),
    sizes = toldApart(granules, (granule, more) => (granule ? sizeText(granule * plan.granule, more) : "0"));
  for (const [n, granule] of granules.entries()) {
    const y = Math.round(axes.yOf(granule)) + 0.5;
    context.fillStyle = mix(palette.border, 0.7);
    context.fillRect(LEFT, y - 0.5, axes.plotWidth, 1);
    context.fillStyle = paleText(palette);
    context.fillText(sizes[n], LEFT - 6, Math.min(axes.bottom - 5, y), LEFT - 8);
  }
  context.textAlign = "center";
  const ticks = ticksOf(
      Math.max(0, axes.x0),
      Math.min(axes.x1, axes.total),
      Math.max(2, axes.plotWidth / 110),
      10,
      axes.mode === "slots" ? 1 : 0,
    ),
    times = axes.mode === "slots" ? ticks.map(whole) : toldApart(ticks, timeText);
  for (const [n, tick] of ticks.entries()) {
    const x = Math.round(LEFT + ((tick - axes.x0) / (axes.x1 - axes.x0)) * axes.plotWidth);
    context.fillStyle = mix(palette.border, 0.7);
    context.fillRect(x, axes.top - 4, 1, axes.plotHeight + 4);
    context.fillStyle = paleText(palette);
    if (x > LEFT + 12 || tick === 0) {
      context.fillText(times[n], Math.min(x, axes.width - context.measureText(times[n]).width / 2 - 2), 8);
    }
  }
}

// The texts of `values`, with as many digits as keep any two of them apart.
function toldApart(values, textOf) {
  let texts;
  for (let more = 0; more <= MOST_DIGITS; more++) {
    texts = values.map((value) => textOf(value, more));
    if (new Set(texts).size === texts.length) break;
  }
  return texts;
}

// Scratch as runs of equal height, so that a long program costs few rectangles.
function drawScratch(context, axes, plan, look) {
  const [first, end] = axes.visible();
  context.fillStyle = look.patterns.scratch;
  for (let k = first; k < end; ) {
    const height = plan.slot_reserved[k];
    let next = k + 1;
    while (next < end && plan.slot_reserved[next] === height) next++;
    if (height) {
      const x = axes.xOf(k),
        top = axes.yOf(height);
      context.fillRect(x, top, Math.max(1, axes.xOf(next) - x), axes.bottom - top);
    }
    k = next;
  }
}

// The stay's rectangle on screen, at least one pixel each way; null when out of sight.
function boxOf(axes, plan, i) {
  const low = plan.stay_offset[i],
    high = low + plan.group_granules[plan.stay_group[i]];
  return box(axes, plan.stay_start[i], plan.stay_end[i], low, high);
}

function box(axes, start, end, low, high) {
  const x = axes.xOf(start),
    right = axes.xOf(end);
  if (right < LEFT || x > axes.width - RIGHT || high < axes.y0 || low > axes.y1) return null;
  const y = axes.yOf(high);
  return [x, y, Math.max(1, right - x), Math.max(1, axes.yOf(low) - y)];
}

function drawStays(context, axes, plan, look) {
  let last = "";
  for (let i = 0; i < plan.numStays; i++) {
    const rect = boxOf(axes, plan, i);
    if (!rect) continue;
    const fill = fillOf(plan, i, look);
    if (fill !== last) context.fillStyle = last = fill;
    const [x, y, width, height] = rect;
    // A hair of ground between neighbours, where there is room for it.
    context.fillRect(x, y, width > 4 ? width - 1 : width, height > 3 ? height - 0.8 : height);
  }
}

function drawCopies(context, axes, plan, look) {
  for (let c = 0; c < plan.copy_group.length; c++) {
    const low = plan.copy_offset[c];
    if (low < 0) continue;
    const high = low + plan.group_granules[plan.copy_group[c]];
    const rect = box(axes, plan.copy_start[c], plan.copy_deadline[c], low, high);
    if (!rect || rect[2] < 2 || rect[3] < 2) continue;
    context.fillStyle = plan.copy_prefetch[c] ? look.patterns.arriving : look.patterns.leaving;
    context.fillRect(...rect);
  }
}

// The names of the stays that have room for one: text, place, and group. The top layer writes them,
// as they have to read on what it makes pale.
function labelsOf(context, axes, plan, palette) {
  context.font = `600 11px ${palette.font}`;
  const labels = [];
  for (let i = 0; i < plan.numStays && labels.length < LABELS; i++) {
    const rect = boxOf(axes, plan, i);
    if (!rect || rect[2] < 46 || rect[3] < 15) continue;
    const x = Math.max(rect[0], LEFT),
      room = Math.min(rect[0] + rect[2], axes.width - RIGHT) - x - 10,
      group = plan.stay_group[i];
    const text = fitted(context, plan.value_names[plan.group_value[group]], room);
    if (text) labels.push({ text, x: x + 6, y: middleOf(axes, rect), group });
  }
  return labels;
}

// The height of the middle of what the window shows of a rectangle.
function middleOf(axes, [, y, , height]) {
  return (Math.max(y, axes.top) + Math.min(y + height, axes.bottom)) / 2;
}

// `paleFrom`: what lies to the right of it is veiled; so is all but the selected group, if one is.
function drawLabels(context, labels, palette, paleFrom, selected) {
  context.font = `600 11px ${palette.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { text, x, y, group } of labels) {
    const isPale = selected === NONE ? x >= paleFrom : group !== selected;
    if (isPale) writeOnPale(context, palette, text, x, y);
    else writeOn(context, palette, text, x, y);
  }
}

function fitted(context, text, room) {
  const hasRoom = (some) => context.measureText(some).width <= room;
  if (room < 24) return "";
  if (hasRoom(text)) return text;
  const letters = [...text],
    cut = (kept) => `${letters.slice(0, kept).join("")}…`;
  let low = 0,
    high = letters.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (hasRoom(cut(middle))) low = middle;
    else high = middle - 1;
  }
  return low > LEAST_LETTERS ? cut(low) : "";
}

// Loops and branches as brackets under the ruler, with how often they run.
function drawRegions(context, axes, plan, palette) {
  within(context, axes, 0, axes.bottom, () => {
    context.font = `600 10px ${palette.font}`;
    context.textAlign = "left";
    context.textBaseline = "top";
    for (const [start, end, times] of plan.regions) {
      const x = Math.max(LEFT, axes.xOf(start)),
        right = Math.min(axes.width - RIGHT, axes.xOf(end));
      if (right - x < 2) continue;
      context.fillStyle = mix(palette.violet, 0.9);
      context.fillRect(x, axes.top - 3, right - x - 1, 3);
      const label = `×${times >= 1 ? digits(times).replace(/\.0+$/, "") : times.toPrecision(2)}`;
      if (right - x > context.measureText(label).width + 6) context.fillText(label, x + 3, axes.top + 9);
    }
  });
}

function drawLimit(context, axes, plan, palette) {
  const y = Math.round(axes.yOf(plan.fast_granules));
  context.fillStyle = palette.text;
  context.fillRect(LEFT, y - 1, axes.plotWidth, 1.5);
}
