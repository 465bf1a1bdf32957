// An area of the map: what lies in it, summed up, in a table, and as CSV.
//
// An area is { start, end, low, high }: slots `[start, end)`, granules `[low, high)`.

const MOST_ROWS = 300;
const BY = {
  kind: ["Kind", (row) => row.kind],
  layer: ["Layer", (row) => row.layer],
  part: ["Part of the model", (row) => row.path],
  tensor: ["Tensor", (row) => row.group],
  stay: ["Stay", (row) => row.stay],
};
const CSV_COLUMNS = [
  ["tensor", (row) => row.name],
  ["shape", (row) => row.shape],
  ["kind", (row) => row.kind],
  ["layer", (row) => row.path],
  ["bytes", (row) => row.bytes],
  ["address", (row) => row.address],
  ["first_slot", (row) => row.start],
  ["end_slot", (row) => row.end],
  ["uses_in_area", (row) => row.uses],
  ["saved_in_area_s", (row) => row.saved],
];

// The stays that reach into an area, each with its uses from fast memory in the area's slots and the
// seconds that they save.
function rowsIn(plan, { start, end, low, high }) {
  const served = new Map(),
    savings = savingsOf(plan);
  for (let m = plan.moveAt(start); m < plan.numMoves && plan.move_time[m] < end; m++) {
    if (plan.move_time[m] < start || !isFast(plan.move_action[m]) || plan.move_flags[m] & SINK) continue;
    const group = plan.move_group[m];
    if (!served.has(group)) served.set(group, []);
    served.get(group).push(m);
  }
  const rows = [];
  for (let stay = 0; stay < plan.numStays; stay++) {
    const group = plan.stay_group[stay],
      [from, to, bottom] = [plan.stay_start[stay], plan.stay_end[stay], plan.stay_offset[stay]],
      top = bottom + plan.group_granules[group];
    if (from >= end || to <= start || bottom >= high || top <= low) continue;
    const moves = (served.get(group) ?? []).filter((m) => from <= plan.move_time[m] && plan.move_time[m] < to);
    const value = plan.group_value[group],
      layer = plan.layers[plan.group_layer[group]] ?? "none";
    rows.push({
      stay,
      group,
      name: plan.value_names[value],
      shape: plan.value_shapes[value],
      kind: KINDS[kindOf(plan, group, from)],
      layer,
      path: plan.paths[plan.group_path[group]] || layer,
      bytes: plan.group_bytes[group],
      address: bottom * plan.granule,
      start: from,
      end: to,
      uses: moves.length,
      saved: moves.reduce((sum, m) => sum + savings[m], 0),
      covers: (Math.min(to, end) - Math.max(from, start)) * (Math.min(top, high) - Math.max(bottom, low)),
    });
  }
  return rows;
}

// Stays, tensors, their bytes (each tensor once), uses and seconds saved of some rows.
function sumOf(rows) {
  const sum = { stays: rows.length, tensors: 0, bytes: 0, uses: 0, saved: 0, covers: 0 },
    seen = new Set();
  for (const row of rows) {
    if (!seen.has(row.group)) {
      seen.add(row.group);
      sum.tensors++;
      sum.bytes += row.bytes;
    }
    for (const name of ["uses", "saved", "covers"]) sum[name] += row[name];
  }
  return sum;
}

// The rows put together by a word of `BY`, those that save most first, then the largest.
function partsOf(rows, by) {
  const parts = new Map();
  for (const row of rows) {
    const key = BY[by][1](row);
    if (!parts.has(key)) parts.set(key, []);
    parts.get(key).push(row);
  }
  return [...parts.values()]
    .map((own) => ({ ...sumOf(own), rows: own }))
    .sort((a, b) => b.saved - a.saved || b.bytes - a.bytes);
}

// How long the area's slots take, and what of it slow memory and waits make.
function timeIn(plan, { start, end }) {
  const time = { total: 0, slow: 0, stall: 0 };
  for (let k = Math.max(0, start); k < Math.min(end, plan.numSlots); k++) {
    time.slow += plan.slot_slow[k];
    time.stall += plan.slot_stall[k];
    time.total += plan.slot_fast[k] + plan.slot_slow[k] + plan.slot_stall[k];
  }
  return time;
}

function csvOf(rows) {
  const cell = (value) => (/[",\n\r]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : String(value));
  const lines = rows.map((row) => CSV_COLUMNS.map(([, of]) => cell(of(row))).join(","));
  return `${[CSV_COLUMNS.map(([name]) => name).join(","), ...lines].join("\n")}\n`;
}

// The area inside the plan, at least one slot and one granule large.
function areaWithin(plan, start, end, low, high) {
  const bounded = (from, to, most) => {
    const first = Math.max(0, Math.min(most - 1, Math.floor(Math.min(from, to))));
    return [first, Math.max(first + 1, Math.min(most, Math.ceil(Math.max(from, to))))];
  };
  const [begin, stop] = bounded(start, end, plan.numSlots),
    [bottom, top] = bounded(low, high, plan.fast_granules);
  return { start: begin, end: stop, low: bottom, high: top };
}

function areaOfText(plan, text) {
  const numbers = (text ?? "").split("_").map(Number);
  return numbers.length === 4 && numbers.every(Number.isFinite) ? areaWithin(plan, ...numbers) : null;
}

function areaText(area) {
  return area ? [area.start, area.end, area.low, area.high].join("_") : "";
}

// The pane below the map that says what lies in the area; while it is open, a drag selects another.
class AreaPane {
  constructor(map) {
    this.map = map;
    this.root = map.root.querySelector(".area");
    this.by = "layer";
    const find = (selector) => this.root.querySelector(selector);
    this.inputs = [...this.root.querySelectorAll("input")];
    this.sums = find(".sums");
    this.head = find("thead tr");
    this.body = find("tbody");
    for (const input of this.inputs) map.on(input, "change", () => this.take());
    map.on(this.root, "keydown", (e) => this.key(e));
    map.on(this.root, "click", (e) => this.click(e));
  }

  get isOpen() {
    return !this.root.hidden;
  }

  // Opens on the selected tensor, else on what the window shows.
  toggle() {
    if (this.isOpen) this.close();
    else this.open(this.ofSelected() ?? this.ofWindow());
  }

  open(area) {
    this.root.hidden = false;
    this.map.root.classList.add("picking");
    this.map.press("pick", "area");
    this.set(area);
  }

  close() {
    this.root.hidden = true;
    this.map.root.classList.remove("picking");
    this.map.press("pick", "");
    this.map.state.area = null;
    this.map.draw();
    this.map.root.focus({ preventScroll: true });
  }

  ofSelected() {
    const { plan, state } = this.map,
      stays = [];
    for (let i = 0; i < plan.numStays; i++) if (plan.stay_group[i] === state.selected) stays.push(i);
    if (!stays.length) return null;
    const of = (name) => stays.map((i) => plan[name][i]);
    const low = Math.min(...of("stay_offset"));
    return areaWithin(
      plan,
      Math.min(...of("stay_start")),
      Math.max(...of("stay_end")),
      low,
      Math.max(...of("stay_offset")) + plan.group_granules[state.selected],
    );
  }

  ofWindow() {
    const { plan, axes } = this.map;
    return areaWithin(plan, ...axes.visible(), axes.y0, axes.y1);
  }

  // `isDone`: the hand has let go; until then only the map shows the area.
  set(area, isDone = true) {
    this.map.state.area = area;
    this.map.draw();
    if (isDone) this.show();
  }

  // What the four fields say, in slots and MiB.
  take() {
    const { plan } = this.map,
      [start, end, low, high] = this.inputs.map((input) => Number(input.value)),
      granules = (mib) => (mib * 2 ** 20) / plan.granule;
    if (![start, end, low, high].every(Number.isFinite)) this.map.say("Four numbers: slots and MiB");
    else this.set(areaWithin(plan, start, end, granules(low), granules(high)));
    this.show();
  }

  show() {
    const { plan, state } = this.map,
      { area } = state;
    if (!this.isOpen || !area) return;
    const mib = (granules) => Number(((granules * plan.granule) / 2 ** 20).toFixed(3));
    [area.start, area.end, mib(area.low), mib(area.high)].forEach((value, n) => {
      this.inputs[n].value = value;
    });
    const key = [plan.id, plan.version, this.by, ...Object.values(area)].join();
    if (key === this.shownKey) return;
    this.shownKey = key;
    this.rows = rowsIn(plan, area);
    this.sums.textContent = this.sentence();
    this.parts = partsOf(this.rows, this.by);
    for (const button of this.root.querySelectorAll("[data-by]"))
      button.setAttribute("aria-pressed", button.dataset.by === this.by);
    this.fill();
  }

  sentence() {
    const { plan, state } = this.map,
      sum = sumOf(this.rows),
      time = timeIn(plan, state.area),
      room = (state.area.end - state.area.start) * (state.area.high - state.area.low);
    const lost = [
      [time.slow, "for slow memory"],
      [time.stall, "of waits"],
    ].filter(([seconds]) => seconds >= NOTHING_S);
    const losses = lost.length ? ` (${lost.map(([s, what]) => `${timeText(s)} ${what}`).join(", ")})` : "";
    return (
      `${counted(sum.tensors, "tensor")} in ${counted(sum.stays, "stay")}, ${sizeText(sum.bytes)}; ` +
      `${digits((100 * sum.covers) / room)} % of the area filled. ` +
      `${counted(sum.uses, "use")} served fast there, which saves ${timeText(sum.saved)}. ` +
      `Its ${counted(state.area.end - state.area.start, "slot")} take ${timeText(time.total)}${losses}.`
    );
  }

  fill() {
    const isStay = this.by === "stay",
      isTensor = isStay || this.by === "tensor";
    const columns = [BY[this.by][0], ...(isTensor ? ["Part of the model"] : ["Tensors"]), "Bytes", "Uses", "Saved"];
    if (isStay) columns.push("Stands in", "Address");
    const isText = (n) => n === 0 || (n === 1 && isTensor);
    this.head.innerHTML = columns
      .map((name, n) => `<th scope="col" class="${isText(n) ? "text" : ""}">${name}</th>`)
      .join("");
    const shown = this.parts.slice(0, MOST_ROWS);
    this.body.innerHTML = shown.map((part, n) => this.line(part, n, isTensor, isStay)).join("");
    const more = this.parts.length - shown.length;
    this.root.querySelector(".more").textContent = more ? `${counted(more, "more row")} in the CSV.` : "";
  }

  line(part, n, isTensor, isStay) {
    const [row] = part.rows;
    const name = isTensor ? `${row.name} ${row.shape}` : BY[this.by][1](row);
    const label = isTensor
      ? `<button data-group="${row.group}" title="Select this tensor on the map">${escapeText(name)}</button>`
      : `<button data-part="${n}" title="Zoom to what of it lies here">${escapeText(name)}</button>`;
    const cells = [
      isTensor ? escapeText(row.path) : whole(part.tensors),
      sizeText(part.bytes),
      whole(part.uses),
      timeText(part.saved),
    ];
    if (isStay) cells.push(slotsText(row.start, row.end), `0x${row.address.toString(16)}`);
    return `<tr><th scope="row" class="text">${label}</th>${cells.map((text, c) => `<td class="${isTensor && c === 0 ? "text" : ""}">${text}</td>`).join("")}</tr>`;
  }

  // Enter in a field takes it; no other key of the map works here, but Escape closes.
  key(event) {
    if (event.key === "Escape") this.close();
    if (event.key === "Enter" && event.target.matches("input")) this.take();
    if (event.key === "Escape" || event.target.matches("input")) event.stopPropagation();
  }

  click(event) {
    const button = event.target.closest("button");
    if (!button) return;
    const { by, group, part, area } = button.dataset;
    if (by) {
      this.by = by;
      this.show();
    }
    if (group) this.map.select(Number(group));
    if (part) this.zoomTo(this.parts[Number(part)].rows);
    if (area === "copy") this.copy();
    if (area === "zoom") this.zoomTo(null);
    if (area === "window") this.set(this.ofWindow());
    if (area === "close") this.close();
  }

  // Shows these stays, or the whole area.
  zoomTo(rows) {
    const { map } = this,
      { plan, axes, state } = map;
    const all = rows ?? [];
    const tops = all.map((row) => plan.stay_offset[row.stay] + plan.group_granules[row.group]);
    const box = rows
      ? [
          Math.min(...all.map((row) => row.start)),
          Math.max(...all.map((row) => row.end)),
          Math.min(...all.map((row) => plan.stay_offset[row.stay])),
          Math.max(...tops),
        ]
      : [state.area.start, state.area.end, state.area.low, state.area.high];
    axes.show(Math.max(0, box[0]), ...box.slice(1));
    map.draw();
  }

  copy() {
    const text = csvOf(this.rows),
      { map } = this;
    map.root.dataset.csv = text;
    const done = () => map.say(`Copied ${counted(this.rows.length, "row")} as CSV`),
      failed = () => map.download(new Blob([text], { type: "text/csv" }), map.pictureName("csv"));
    copyText(text, done, failed);
  }
}

// The area on the top layer: what is outside of it pales.
function drawArea(context, axes, palette, area) {
  if (!area) return;
  const x = Math.max(LEFT, axes.xOf(area.start)),
    right = Math.min(axes.width - RIGHT, axes.xOf(area.end)),
    y = Math.max(axes.top, axes.yOf(area.high)),
    bottom = Math.min(axes.bottom, axes.yOf(area.low));
  if (right <= x || bottom <= y) return;
  context.fillStyle = mix(palette.primary, 0.12);
  context.fillRect(x, y, right - x, bottom - y);
  outline(context, [x + 0.75, y + 0.75, right - x - 1.5, bottom - y - 1.5], palette.primary, 1.5, [5, 3]);
}
