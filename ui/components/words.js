// Quantities and sentences, in the same words as engine/game/units.py.

const ACTIONS = ["Copy", "NoCopy", "Drop", "Copy other end", "NoCopy other end"];
const DROP = 2;
// For each action the one that does the same at the end that the place rule chooses.
const ACTION_KINDS = [0, 1, 2, 0, 1];
const KINDS = ["input", "temporary", "output", "cross-program"];
// Seconds that are no time: the ticks of the game are rounded.
const NOTHING_S = 5e-10;
const READS = 1,
  WRITES = 2,
  SINK = 4;

// An end that the place rule does not choose is a pair of arrows, where room is short.
function shortAction(action) {
  const kind = ACTION_KINDS[action];
  return kind === action ? ACTIONS[action] : `${ACTIONS[kind]} ⇅`;
}

function isFast(action) {
  return action < ACTIONS.length && action !== DROP;
}

// A whole number, its thousands separated as everywhere.
function whole(amount) {
  return Math.round(amount).toLocaleString("en");
}

function counted(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// The move of a number as people type it, thousands separated or not; null for what is none.
function moveOfText(text) {
  const digits = text.replace(/[\s,]/g, "");
  return /^[0-9]+$/.test(digits) ? Number(digits) - 1 : null;
}

// `more`: so many digits more than the three that are enough to read.
function digits(amount, more = 0) {
  const size = Math.abs(amount),
    places = (size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + more;
  return places ? amount.toFixed(places) : whole(amount);
}

function sizeText(bytes, more = 0) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1023.5 && unit < units.length - 1) {
    bytes /= 1024;
    unit++;
  }
  return unit ? `${digits(bytes, more)} ${units[unit]}` : `${whole(bytes)} B`;
}

function timeText(seconds, more = 0) {
  if (Math.abs(seconds) < NOTHING_S) return "0 ns";
  if (seconds < 0) return `−${timeText(-seconds, more)}`;
  for (const [unit, scale] of [
    ["s", 1],
    ["ms", 1e-3],
    ["µs", 1e-6],
    ["ns", 1e-9],
  ]) {
    if (seconds >= 0.9995 * scale) return `${digits(seconds / scale, more)} ${unit}`;
  }
  return `${digits(seconds * 1e9, more)} ns`;
}

// `± 0` for what is only rounding.
function signedTime(seconds) {
  if (Math.abs(seconds) < NOTHING_S) return "± 0";
  return `${seconds > 0 ? "+" : "−"}${timeText(Math.abs(seconds))}`;
}

// The mark behind a saving that no compile has shown; `more`: how much more it may be.
function unobservedText(saving, more) {
  return more > 0 ? `, not observed: up to ${timeText(saving + more)}` : "";
}

function kindOf(plan, group, start) {
  return start < 0 ? 3 : plan.group_kind[group];
}

function instructionName(plan, slot) {
  return slot >= plan.numSlots ? "end of the program" : plan.instruction_names[slot];
}

function moveSentence(plan, move) {
  if (!plan.numMoves) return "No move: no tensor of this program can save time";
  const flags = plan.move_flags[move],
    slot = plan.move_time[move];
  const tensor = `${plan.value_names[plan.move_value[move]]} · ${sizeText(plan.group_bytes[plan.move_group[move]])}`;
  const verb =
    flags & SINK ? "needs in slow memory" : flags & READS ? (flags & WRITES ? "updates" : "reads") : "writes";
  const stake = plan.move_worth[move];
  const mark = unobservedText(stake, plan.move_more[move]);
  const worth = stake < 0 ? `${timeText(-stake)} longer if fast` : `${timeText(stake)} at stake${mark}`;
  const saved = flags & SINK ? "" : ` · ${worth}`;
  const action = move < plan.tip ? ACTIONS[plan.move_action[move]] : "?";
  return `${instructionName(plan, slot)} ${verb} ${tensor}${saved}${action ? ` → ${action}` : ""}`;
}

function escapeText(text) {
  return String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}

function cardOf(title, rows) {
  const body = rows
    .map(([name, value]) => `<tr><td>${escapeText(name)}</td><td>${escapeText(value)}</td></tr>`)
    .join("");
  return `<b>${escapeText(title)}</b><table>${body}</table>`;
}

// The slots [start, end) of a stay, the last one included; before slot 0 is the run before.
function slotsText(start, end) {
  const first = Math.max(0, start),
    last = end - 1;
  const slots = first === last ? `slot ${whole(last)}` : `slots ${whole(first)} to ${whole(last)}`;
  return start < 0 ? `${slots}, from the previous run on` : slots;
}

function stayCard(plan, i) {
  const group = plan.stay_group[i],
    value = plan.group_value[group];
  const start = plan.stay_start[i],
    end = plan.stay_end[i],
    arrival = plan.stay_arrival[i],
    saving = plan.group_saving[group];
  const rows = [
    ["shape", plan.value_shapes[value] || "unknown"],
    ["size", sizeText(plan.group_bytes[group])],
    ["kind", KINDS[kindOf(plan, group, start)]],
    ["stays", slotsText(start, end)],
    ["address", `0x${(plan.stay_offset[i] * plan.granule).toString(16)}`],
    ["could save", timeText(saving) + unobservedText(saving, plan.group_more[group])],
    ["layer", layerText(plan, group)],
  ];
  if (arrival > start) rows.push(["prefetched", slotsText(start, arrival)]);
  return cardOf(plan.value_names[value], rows);
}

// All that is known of where a tensor belongs; its outermost layer where paths say nothing.
function layerText(plan, group) {
  return plan.paths[plan.group_path[group]] || plan.layers[plan.group_layer[group]] || "none";
}

function slotCard(plan, slot) {
  const rows = [
    ["slot", `${whole(slot)} (${plan.opcodes[plan.slot_opcode[slot]]})`],
    ["takes", timeText(plan.slot_fast[slot] + plan.slot_slow[slot])],
    ["of it slow memory", timeText(plan.slot_slow[slot])],
  ];
  if (plan.slot_stall[slot] > 0) rows.push(["stalls before", timeText(plan.slot_stall[slot])]);
  if (plan.slot_reserved[slot]) rows.push(["scratch", sizeText(plan.slot_reserved[slot] * plan.granule)]);
  if (plan.slot_times[slot] > 1) rows.push(["runs", `${digits(plan.slot_times[slot])} times`]);
  if (plan.paths[plan.slot_path[slot]]) rows.push(["layer", plan.paths[plan.slot_path[slot]]]);
  if (plan.op_names[slot]) rows.push(["source", plan.op_names[slot]]);
  return cardOf(plan.instruction_names[slot], rows);
}

// What a term of the glossary (glossary.toml) means; nothing of another word.
function meaningOf(label) {
  const term = label.toLowerCase();
  return Object.hasOwn(GLOSSARY, term) ? GLOSSARY[term] : undefined;
}

// A label, explained on hover and focus if it is a term.
function termHtml(label) {
  const text = meaningOf(label);
  if (!text) return escapeText(label);
  return `<dfn tabindex="0" aria-description="${escapeText(text)}">${escapeText(label)}</dfn>`;
}
