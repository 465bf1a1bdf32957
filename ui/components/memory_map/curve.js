// The value curve: seconds saved before each move, against another plan, the bound, the best known.

// `[M + 1]`: what the plan on the map has saved before each move and at the end, stalls taken off.
function savedBefore(plan) {
  if (plan.curveCache) return plan.curveCache;
  const saved = new Float64Array(plan.numMoves + 1),
    savings = savingsOf(plan);
  let sum = 0,
    waited = 0,
    slot = 0;
  const wait = (until) => {
    for (; slot <= Math.min(until, plan.numSlots - 1); slot++) waited += plan.slot_stall[slot];
  };
  for (let m = 0; m < plan.numMoves; m++) {
    wait(plan.move_time[m]);
    saved[m] = sum - waited;
    sum += savings[m];
  }
  wait(plan.numSlots - 1);
  saved[plan.numMoves] = sum - waited;
  return (plan.curveCache = saved);
}

// Curves as {name, colour, dash, values, end}; `end` is the first value that is not known.
function curvesOf(plan, look) {
  const { palette } = look,
    own = savedBefore(plan),
    curves = [];
  const known = plan.tip < plan.numMoves ? plan.tip + 1 : plan.numMoves + 1;
  const rival = plan.rival_saved;
  if (look.curve === "lead" && rival.length) {
    const lead = own.map((value, m) => value - rival[m]);
    return [{ name: `lead over ${plan.rival}`, colour: palette.primary, dash: [], values: lead, end: known }];
  }
  if (rival.length) curves.push({ name: plan.rival, colour: palette.gray, dash: [], values: rival, end: rival.length });
  if (plan.estimates.length) {
    curves.push({
      name: "own estimate",
      colour: palette.violet,
      dash: [2, 3],
      values: plan.estimates,
      end: plan.estimates.length,
    });
  }
  curves.push({ name: "this line", colour: palette.primary, dash: [], values: own, end: known });
  return curves;
}

function marksOf(plan, look) {
  if (look.curve === "lead" && plan.rival_saved.length) return [];
  return plan.marks.map(([name, value]) => ({
    name,
    value,
    dash: name === "bound" ? [5, 3] : [2, 2],
    colour: name === "bound" ? look.palette.text : look.palette.green,
  }));
}

function drawCurve(context, axes, plan, look) {
  const { palette } = look,
    { top, height } = axes.curve,
    isLead = look.curve === "lead" && plan.rival_saved.length;
  frame(context, axes, top, height, palette, isLead ? "lead" : "saved");
  if (!plan.numMoves) return;
  const curves = curvesOf(plan, look),
    marks = marksOf(plan, look);
  const [low, high] = spanOf(curves, marks);
  const y = (value) => top + height - 3 - ((value - low) / (high - low)) * (height - 6);
  labelSpan(context, axes, palette, isLead, low, high);
  within(context, axes, top, top + height, () => {
    if (isLead) shadeLead(context, axes, plan, palette, curves[0], y);
    for (const { value, colour, dash } of marks) {
      strokePath(context, colour, 1.2, dash, [
        [LEFT, y(value)],
        [axes.width - RIGHT, y(value)],
      ]);
    }
    for (const { values, end, colour, dash } of curves) {
      strokePath(context, colour, 1.8, dash, pointsOf(axes, plan, values, end, y));
    }
  });
}

function spanOf(curves, marks) {
  let low = 0,
    high = 0;
  for (const { values, end } of curves) {
    for (let m = 0; m < end; m++) {
      low = Math.min(low, values[m]);
      high = Math.max(high, values[m]);
    }
  }
  for (const { value } of marks) high = Math.max(high, value);
  return high > low ? [low, high] : [low, low + 1e-9];
}

function labelSpan(context, axes, palette, isLead, low, high) {
  context.fillStyle = paleText(palette);
  context.font = `10px ${palette.font}`;
  context.textAlign = "right";
  context.textBaseline = "top";
  context.fillText(`${isLead && high > 1e-12 ? "+" : ""}${timeText(high)}`, LEFT - 6, axes.curve.top + 1);
  // A low end so little below zero gets no label.
  if (low < -1e-3 * high - 1e-12) {
    context.textBaseline = "bottom";
    context.fillText(`−${timeText(-low)}`, LEFT - 6, axes.curve.top + axes.curve.height - 1);
  }
}

// One point per move, or per pixel column where moves are narrower than that.
function pointsOf(axes, plan, values, end, y) {
  const points = [];
  let pixel = -Infinity;
  for (let m = 0; m < end; m++) {
    const x = m < plan.numMoves ? axes.xOf(plan.move_time[m]) : axes.xOf(plan.numSlots);
    if (x > axes.width + 50) {
      points.push([x, y(values[m])]);
      break;
    }
    if (Math.floor(x) === pixel || x < LEFT - 50) {
      points.pop();
    }
    pixel = Math.floor(x);
    points.push([x, y(values[m])]);
  }
  return points;
}

function strokePath(context, colour, width, dash, points) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  for (const [i, [x, y]] of points.entries()) i ? context.lineTo(x, y) : context.moveTo(x, y);
  context.stroke();
  context.setLineDash([]);
}

function shadeLead(context, axes, plan, palette, curve, y) {
  const zero = y(0),
    points = pointsOf(axes, plan, curve.values, curve.end, y);
  for (let i = 0; i + 1 < points.length; i++) {
    const [x, tall] = points[i],
      width = Math.max(1, points[i + 1][0] - x);
    context.fillStyle = mix(tall < zero ? palette.green : palette.red, 0.35);
    context.fillRect(x, Math.min(tall, zero), width, Math.abs(tall - zero));
  }
  strokePath(
    context,
    mix(palette.text, 0.5),
    1,
    [],
    [
      [LEFT, zero],
      [axes.width - RIGHT, zero],
    ],
  );
}

function curveCard(plan, move) {
  const own = savedBefore(plan),
    rival = plan.rival_saved,
    rows = [];
  if (move <= plan.tip) rows.push(["this line has saved", timeText(own[move])]);
  if (rival.length) rows.push([`${plan.rival} has`, timeText(rival[move])]);
  if (rival.length && move <= plan.tip) rows.push(["lead", signedTime(own[move] - rival[move])]);
  if (move < plan.estimates.length) rows.push(["own estimate of the end", timeText(plan.estimates[move])]);
  for (const [name, value] of plan.marks) rows.push([`${name}, at the end`, timeText(value)]);
  return cardOf(`Before move ${(move + 1).toLocaleString("en")}`, rows);
}

function curveLegend(plan, look) {
  return [...curvesOf(plan, look), ...marksOf(plan, look)].map(({ name, colour, dash }) => {
    const line = dash.length ? `repeating-linear-gradient(90deg,${colour} 0 4px,transparent 4px 7px)` : colour;
    return [`height:2px;background:${line}`, name];
  });
}
