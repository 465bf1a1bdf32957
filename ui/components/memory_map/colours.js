// The colours of the tensors by what they show, and their legends.

const HEAT = ["#3a2a78", "#3f4f9a", "#2f7392", "#2a9485", "#5cb56a", "#b3c84a", "#f2cf45"];
const CHIPS = 8;

function heatOf(share) {
  return HEAT[Math.max(0, Math.min(HEAT.length - 1, Math.floor(share * HEAT.length)))];
}

// Smallest and largest of the groups that some move is about.
function rangeOf(plan, measure) {
  let low = Infinity,
    high = -Infinity;
  for (const group of new Set(plan.move_group)) {
    const value = measure(group);
    if (value > 0) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low > high ? [1, 1] : [low, high];
}

function logShare(value, low, high) {
  return high > low ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : 0.5;
}

// Layers in order of use run through the hues; neighbours differ in lightness too.
function layerColour(layer, count) {
  if (layer < 0) return "#8a8f98";
  const hue = 255 - 235 * (count > 1 ? layer / (count - 1) : 0);
  return `hsl(${hue.toFixed(0)} 52% ${layer % 2 ? 42 : 55}%)`;
}

// `fill(group, start)` is a colour; `legend` a list of [css of a chip, text, name of its pattern, the
// part of the board that it explains; without one it is always there].
const COLOURINGS = {
  kind(plan, palette) {
    return {
      fill: (group, start) => palette.kinds[kindOf(plan, group, start)],
      legend: palette.kinds.map((colour, kind) => [`background:${colour}`, KINDS[kind], "", KINDS[kind]]),
    };
  },
  saving(plan) {
    const density = (group) => plan.group_saving[group] / Math.max(1, plan.group_bytes[group]);
    const known = [...new Set(plan.move_group)].map(density).sort((a, b) => a - b);
    const at = (share) => `${timeText((known[Math.round(share * (known.length - 1))] ?? 0) * 2 ** 20)}/MiB`;
    return {
      fill: (group) => heatOf(plan.group_heat[group] / 256),
      legend: scaleOf("saves by rank", at(0), at(0.5), at(1)),
    };
  },
  size(plan) {
    const [low, high] = rangeOf(plan, (group) => plan.group_bytes[group]);
    return {
      fill: (group) => heatOf(logShare(plan.group_bytes[group], low, high)),
      legend: scaleOf("size, log scale", sizeText(low), sizeText(Math.sqrt(low * high)), sizeText(high)),
    };
  },
  age(plan) {
    const slot = (share) => `slot ${Math.round(share * plan.numSlots).toLocaleString("en")}`;
    return {
      fill: (_group, start) => heatOf(Math.max(0, start) / Math.max(1, plan.numSlots)),
      legend: scaleOf("in fast memory since", slot(0), slot(0.5), slot(1)),
    };
  },
  layer(plan) {
    const { layers } = plan,
      count = layers.length,
      step = Math.max(1, (count - 1) / (CHIPS - 1));
    const chips = [];
    for (let l = 0; Math.round(l) < count && chips.length < CHIPS; l += step) {
      const layer = Math.round(l);
      chips.push([`background:${layerColour(layer, count)}`, layers[layer]]);
    }
    if (count > CHIPS) chips.push(["width:0", `(${CHIPS} of ${count} layers, in order of use)`]);
    return { fill: (group) => layerColour(plan.group_layer[group], count), legend: chips };
  },
};

function scaleOf(name, low, middle, high) {
  const half = (from, to) => `width:56px;background:linear-gradient(90deg,${HEAT.slice(from, to).join(",")})`;
  return [
    ["width:0", `${name}: ${low}`],
    [half(0, 4), middle],
    [half(3, 7), high],
  ];
}

function fillOf(plan, i, look) {
  return look.colouring.fill(plan.stay_group[i], plan.stay_start[i]);
}

// Parts of a board that not every board has, beside the kinds of its tensors.
const SCRATCH = "scratch",
  ARRIVING = "arriving",
  LEAVING = "leaving",
  SLOW = "slow",
  STALL = "stall",
  LEGAL = "legal",
  OTHER = "other";

// The parts of the board that a plan shows.
function partsOfPlan(plan) {
  const parts = new Set();
  for (let i = 0; i < plan.numStays; i++) parts.add(KINDS[kindOf(plan, plan.stay_group[i], plan.stay_start[i])]);
  plan.copy_offset.forEach((offset, c) => {
    if (offset >= 0) parts.add(plan.copy_prefetch[c] ? ARRIVING : LEAVING);
  });
  if (plan.slot_reserved.some(Boolean)) parts.add(SCRATCH);
  if (plan.slot_slow.some((seconds) => seconds > NOTHING_S)) parts.add(SLOW);
  if (plan.slot_stall.some((seconds) => seconds > NOTHING_S)) parts.add(STALL);
  return parts;
}

// The parts of the board that the ghosts of a move show.
function partsOfGhosts(ghosts) {
  return new Set(ghosts.map((ghost) => (ghost.other ? OTHER : LEGAL)));
}

// The legend of the ghosts, and of their strength where the agent has an opinion.
function ghostLegend({ palette }, hasOpinion) {
  const css = `background:${mix(palette.green, 0.2)};outline:1.5px dashed ${palette.green};outline-offset:-1px`;
  const other = `outline:1px dotted ${palette.green};outline-offset:-1px`;
  return [
    [css, hasOpinion ? "legal action: filled by the agent's visits, border by its prior" : "legal action", "", LEGAL],
    [other, "other end", "", OTHER],
  ];
}

function legendOf(look, plan) {
  const { palette } = look;
  const css = (direction, line, ground) =>
    `background:repeating-linear-gradient(${direction}deg,${line} 0 1.5px,${ground} 1.5px 5px)`;
  const items = [...look.colouring.legend];
  items.push([css(135, palette.gray, "transparent"), "scratch", "scratch", SCRATCH]);
  items.push([css(135, palette.background, palette.gray), "prefetch under way", "arriving", ARRIVING]);
  items.push([css(45, palette.background, palette.gray), "write-back under way", "leaving", LEAVING]);
  items.push([`background:${palette.orange}`, "slow memory", "", SLOW]);
  items.push([`background:${palette.red}`, "stall", "", STALL]);
  if (plan.regions.length) items.push([`height:3px;background:${palette.violet}`, "loop, branch"]);
  return items;
}
