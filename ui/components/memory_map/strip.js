// Below the map, on the same time axis: time per instruction with stalls, copies, the whole program.

function drawTimes(context, axes, plan, look) {
  const { palette } = look,
    { times: top } = axes,
    height = TIMES;
  frame(context, axes, top, height, palette, "compute");
  const scale = peakOf(axes, plan) || 1;
  const stacked = [
    [plan.slot_fast, mix(palette.gray, 0.75)],
    [plan.slot_slow, palette.orange],
    [plan.slot_stall, palette.red],
  ];
  const columns = columnsOf(
    axes,
    stacked.map(([values]) => values),
  );
  within(context, axes, top, top + height, () => {
    for (const { x, width, sums } of columns) {
      let y = top + height;
      for (let s = 0; s < stacked.length; s++) {
        const tall = Math.min(y - top, (sums[s] / scale) * (height - 3));
        if (tall <= 0) continue;
        context.fillStyle = stacked[s][1];
        context.fillRect(x, y - tall, Math.max(1, width), tall);
        y -= tall;
      }
    }
  });
  context.fillStyle = paleText(palette);
  context.font = `10px ${palette.font}`;
  context.textAlign = "right";
  context.textBaseline = "top";
  const label = axes.mode === "slots" ? timeText(scale) : "share";
  context.fillText(label, LEFT - 6, top + 1);
}

// The value of a full strip: in slots mode the longest visible time, in seconds mode a share of 1.
function peakOf(axes, plan) {
  if (axes.mode === "seconds") return 1;
  const [first, end] = axes.visible();
  let peak = 0;
  for (let k = first; k < end; k++) {
    peak = Math.max(peak, plan.slot_fast[k] + plan.slot_slow[k] + plan.slot_stall[k]);
  }
  return peak;
}

// One entry per slot, or per pixel column where slots are narrower than a pixel (the tallest wins).
function columnsOf(axes, rows) {
  const [first, end] = axes.visible(),
    columns = [];
  let current = null;
  for (let k = first; k < end; k++) {
    const x = axes.xOf(k),
      width = axes.xOf(k + 1) - x;
    let sums = rows.map((row) => row[k]);
    const total = sums.reduce((a, b) => a + b, 0);
    if (axes.mode === "seconds") sums = sums.map((s) => (total ? s / total : 0));
    const pixel = Math.floor(x);
    if (width < 1 && current && current.pixel === pixel) {
      if (total > current.total) Object.assign(current, { sums, total });
      continue;
    }
    current = { x: width < 1 ? pixel : x, width: width > 3 ? width - 1 : width, sums, total, pixel };
    columns.push(current);
  }
  return columns;
}

function drawLanes(context, axes, plan, palette) {
  const lanes = [
    ["copies in", 1, palette.blue],
    ["copies out", 0, palette.orange],
  ];
  lanes.forEach(([label, direction, colour], lane) => {
    const top = axes.lanes + lane * LANE;
    frame(context, axes, top, LANE - 2, palette, label);
    within(context, axes, top, top + LANE - 2, () => {
      drawAllowed(context, axes, plan, direction, top, mix(colour, 0.22));
      drawService(context, axes, plan, direction, top, colour);
    });
  });
}

// Draws the slots that the plan gives the copies.
function drawAllowed(context, axes, plan, direction, top, colour) {
  context.fillStyle = colour;
  for (let c = 0; c < plan.copy_group.length; c++) {
    if (plan.copy_prefetch[c] !== direction) continue;
    const x = axes.xOf(plan.copy_start[c]),
      right = axes.xOf(plan.copy_deadline[c]);
    if (right >= LEFT && x <= axes.width) context.fillRect(x, top + 1, Math.max(1, right - x), LANE - 4);
  }
}

// Draws the times at which slow memory really serves the copies.
function drawService(context, axes, plan, direction, top, colour) {
  context.fillStyle = colour;
  for (let s = 0; s < plan.service_start.length; s++) {
    if (plan.service_prefetch[s] !== direction) continue;
    const x = axes.xOfSecond(plan.service_start[s]),
      right = axes.xOfSecond(plan.service_end[s]);
    if (right >= LEFT && x <= axes.width) context.fillRect(x, top + 3, Math.max(1, right - x), LANE - 8);
  }
}

function drawMini(context, axes, plan, palette) {
  const { top, height } = axes.mini;
  frame(context, axes, top, height, palette, "whole");
  const columns = Math.max(1, Math.floor(axes.plotWidth)),
    high = new Float32Array(columns);
  for (let k = 0; k < plan.numSlots; k++) {
    const from = Math.max(0, Math.floor(axes.miniX(k) - LEFT));
    const to = Math.min(columns - 1, Math.ceil(axes.miniX(k + 1) - LEFT) - 1);
    for (let x = from; x <= Math.max(from, to); x++) high[x] = Math.max(high[x], plan.slot_used[k]);
  }
  context.fillStyle = mix(palette.primary, 0.45);
  for (let x = 0; x < columns; x++) {
    const tall = Math.min(1, high[x] / plan.fast_granules) * (height - 2);
    if (tall) context.fillRect(LEFT + x, top + height - tall, 1, tall);
  }
}

function frame(context, axes, top, height, palette, label) {
  context.fillStyle = mix(palette["secondary-background"], 0.7);
  context.fillRect(LEFT, top, axes.plotWidth, height);
  context.fillStyle = paleText(palette);
  context.font = `10.5px ${palette.font}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(label, LEFT - 6, top + height / 2 + 1);
}
