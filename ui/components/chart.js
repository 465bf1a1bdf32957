// A small chart: stacked bars, or lines over an axis, as SVG; data as in ui/components/charts.py.

const BAR_ROOM = 30,
  LETTER = 6.6,
  LEAST_PX = 240;

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}

// At most four digits, thousands separated as everywhere.
function number(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  const text = Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 9 });
  return text === "-0" ? "0" : text.replace("-", "−");
}

// Round numbers from `low` to `high`, about `count` of them.
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, count),
    power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) found.push(n * step || 0);
  return found;
}

// Powers of ten, and between few of them their doubles and fivefolds.
function logTicks(low, high) {
  const found = [],
    isFew = Math.log10(high / low) < 2.5;
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const m of isFew ? [1, 2, 5] : [1]) {
      const value = m * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
const dashOf = (dash) => (dash === "dotted" ? ' stroke-dasharray="2 4"' : "");
const text = (x, y, words, kind, anchor = "start") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" class="${kind}" text-anchor="${anchor}">${escaped(words)}</text>`;

// Where the bars lie, and the SVG of it; `places`: of each part its box and what it says.
function bars(data, width) {
  const { labels, parts, marks, notes } = data;
  const longest = Math.max(0, ...labels.map((label) => label.length));
  const left = Math.min(width * 0.42, 14 + longest * LETTER),
    note = notes.length ? 14 + LETTER * Math.max(...notes.map((n) => n.length)) : 12,
    top = marks.length ? 20 : 6,
    bottom = top + Math.max(BAR_ROOM, data.height - top - 40);
  const sums = labels.map((_, row) => {
    const values = parts.map((part) => part.values[row]);
    return [
      values.filter((v) => v < 0).reduce((a, b) => a + b, 0),
      values.filter((v) => v > 0).reduce((a, b) => a + b, 0),
    ];
  });
  const ends = [0, ...sums.flat(), ...marks.map((mark) => mark.at)];
  const [low, high] = [Math.min(...ends), Math.max(...ends) || 1];
  const right = Math.max(left + 40, width - Math.max(note, 30)),
    x = scale(low, high, left, right),
    step = (bottom - top) / Math.max(1, labels.length);
  const svg = [],
    places = [];
  if (data.shaded !== null) {
    svg.push(
      `<rect class="ground" x="${left}" y="${top}" width="${Math.max(0, x(data.shaded) - left)}" height="${bottom - top}"/>`,
    );
  }
  for (const at of ticks(low, high, Math.max(2, (right - left) / 110))) {
    svg.push(
      `<path class="grid" d="M${x(at).toFixed(1)} ${top}V${bottom}"/>`,
      text(x(at), bottom + 14, number(at), "tick", "middle"),
    );
  }
  svg.push(text((left + right) / 2, bottom + 31, data.title, "tick", "middle"));
  labels.forEach((label, row) => {
    const y = top + step * row,
      high = Math.min(26, step * 0.66),
      middle = y + step / 2;
    const room = Math.floor((left - 12) / LETTER);
    const short = label.length > room ? `${label.slice(0, room - 1)}…` : label;
    svg.push(text(left - 7, middle + 4, short, "name", "end"));
    let [minus, plus] = [0, 0];
    for (const part of parts) {
      const value = part.values[row],
        from = value < 0 ? minus + value : plus;
      if (value < 0) minus += value;
      else plus += value;
      if (!value) continue;
      const box = {
        x: x(from),
        y: middle - high / 2,
        width: Math.max(0.5, x(from + Math.abs(value)) - x(from)),
        height: high,
      };
      svg.push(
        `<rect x="${box.x.toFixed(1)}" y="${box.y.toFixed(1)}" width="${box.width.toFixed(1)}" height="${high.toFixed(1)}" fill="${part.colour}"/>`,
      );
      places.push({ ...box, words: [label, `${number(value)} ${data.unit} of ${part.name}`] });
    }
    if (notes[row]) svg.push(text(x(plus) + 6, middle + 4, notes[row], "halo"));
  });
  return { svg: svg.join("") + markLines(marks, x, null, [left, right, top, bottom]), places, height: bottom + 38 };
}

function markLines(marks, x, y, [left, right, top, bottom]) {
  let last = -Infinity;
  const lines = [...marks]
    .sort((a, b) => a.at - b.at)
    .map((mark) => {
      const stroke = `stroke="${mark.colour}" stroke-width="1.6" fill="none"${dashOf(mark.dash)}`;
      if (mark.axis === "y") {
        const at = y(mark.at);
        return `<path d="M${left} ${at.toFixed(1)}H${right}" ${stroke}/>${text(right - 4, at - 5, mark.text, "halo", "end")}`;
      }
      const at = x(mark.at),
        half = (mark.text.length * LETTER) / 2;
      // Two texts that would lie over each other: the second one goes to the right of the first.
      const centre = Math.max(Math.min(Math.max(at, left + half), right + 24), last + half + 8);
      last = centre + half;
      return `<path d="M${at.toFixed(1)} ${top - 4}V${bottom}" ${stroke}/>${text(centre, top - 8, mark.text, "halo", "middle")}`;
    });
  return lines.join("");
}

// The lines, and for the pointer the x of every point that is drawn.
function lines(data, width) {
  const { series, marks } = data,
    top = 12,
    bottom = data.height - 38,
    usable = (v) => v !== null && (!data.is_log || v > 0);
  const xs = series.flatMap((s) => s.x),
    ys = series.flatMap((s) => s.y.filter(usable));
  const across = [xs.length ? Math.min(...bounds(xs)) : 0, xs.length ? Math.max(...bounds(xs)) : 1];
  let [low, high] = ys.length ? bounds([...ys, ...marks.filter((m) => m.axis === "y").map((m) => m.at)]) : [0, 1];
  if (!data.is_log) low = Math.min(0, low);
  high = data.top ?? (data.is_log ? high * 1.2 : high + 0.06 * (high - low || 1));
  if (data.is_log) low /= 1.2;
  const steps = data.is_log ? logTicks(low, high) : ticks(low, high, 4);
  const left = 16 + LETTER * Math.max(1, ...steps.map((v) => number(v).length)),
    right = width - 12;
  const by = data.is_log ? Math.log10 : (v) => v,
    linear = scale(by(low), by(high), bottom, top);
  const x = scale(...across, left, right),
    y = (value) => linear(by(value));
  const svg = [`<rect class="ground" x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/>`];
  for (const at of steps) {
    svg.push(
      `<path class="grid" d="M${left} ${y(at).toFixed(1)}H${right}"/>`,
      text(left - 6, y(at) + 4, number(at), "tick", "end"),
    );
  }
  for (const at of ticks(...across, Math.max(2, width / 120)).filter((v) => Number.isInteger(v))) {
    svg.push(text(x(at), bottom + 15, number(at), "tick", "middle"));
  }
  svg.push(text((left + right) / 2, bottom + 31, data.x_title, "tick", "middle"));
  for (const one of series) svg.push(drawn(one, x, y, usable, bottom));
  return {
    svg: svg.join("") + markLines(marks, x, y, [left, right, top, bottom]),
    x,
    y,
    left,
    right,
    top,
    bottom,
    across,
    usable,
    height: data.height,
  };
}

// Least and greatest; a list may be too long to be spread.
function bounds(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

function drawn(one, x, y, usable, bottom) {
  const dots = [];
  let path = "",
    isOpen = false,
    first = 0;
  one.x.forEach((at, n) => {
    const value = one.y[n];
    if (!usable(value)) {
      isOpen = false;
      return;
    }
    const [px, py] = [x(at).toFixed(1), y(value).toFixed(1)];
    if (one.style === "points") dots.push(`<circle cx="${px}" cy="${py}" r="2.2"/>`);
    else if (!isOpen) path += `M${px} ${py}`;
    else path += one.style === "plain" ? `L${px} ${py}` : `H${px}V${py}`;
    if (!isOpen && !path.includes("M", 1)) first = px;
    isOpen = true;
  });
  if (one.style === "points") return `<g fill="${one.colour}" fill-opacity=".45">${dots.join("")}</g>`;
  const line = `<path d="${path}" fill="none" stroke="${one.colour}" stroke-width="1.5"${dashOf(one.dash)}/>`;
  if (one.style !== "area" || !path) return line;
  return `<path d="${path}V${bottom}H${first}Z" fill="${one.colour}" fill-opacity=".22"/>${line}`;
}

// What stands at a place of the x axis: the nearest point at or before it of each series.
function wordsAt(data, at) {
  const rows = [];
  let shown = null;
  for (const one of data.series) {
    let n = 0;
    while (n + 1 < one.x.length && one.x[n + 1] <= at) n++;
    if (!one.x.length || one.y[n] === null) continue;
    shown ??= one.x[n];
    rows.push(
      data.series.length > 1 ? `${one.name}: ${number(one.y[n])} ${data.unit}` : `${number(one.y[n])} ${data.unit}`,
    );
  }
  return rows.length ? [`${data.x_name} ${number(shown)}`, ...rows] : [];
}

function legend(data) {
  const items = data.kind === "bars" ? data.parts : data.series;
  if (items.length < 2 && data.kind !== "bars") return "";
  const swatch = ({ colour, dash }) =>
    dash === "dotted" ? `height:0;border-top:2px dotted ${colour};background:none` : `background:${colour}`;
  return `<ul>${items.map((item) => `<li><i style="${swatch(item)}"></i>${escaped(item.name)}</li>`).join("")}</ul>`;
}

class ChartView {
  constructor(parent) {
    this.root = document.createElement("div");
    this.root.className = "chart";
    this.root.innerHTML =
      '<svg role="img"></svg><div class="legend"></div><div class="card" hidden></div><button type="button" title="Save as SVG">SVG</button>';
    [this.svg, this.legend, this.card, this.button] = this.root.children;
    parent.append(this.root);
    this.svg.addEventListener("pointermove", (event) => this.hover(event));
    this.svg.addEventListener("pointerleave", () => this.hide());
    this.button.addEventListener("click", () => this.save());
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.root);
  }

  show(data) {
    this.data = data;
    this.legend.innerHTML = legend(data);
    this.draw();
  }

  draw() {
    const width = Math.max(LEAST_PX, this.root.clientWidth);
    if (!this.data || !this.root.clientWidth) return;
    this.at = this.data.kind === "bars" ? bars(this.data, width) : lines(this.data, width);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.at.height}`);
    this.svg.setAttribute("height", this.at.height);
    this.svg.setAttribute("aria-label", this.data.y_title ?? this.data.title);
    this.svg.innerHTML = `${this.at.svg}<path class="pointer"/>`;
    this.hide();
  }

  hover({ offsetX: px, offsetY: py }) {
    const { at, data } = this;
    let words = [];
    if (data.kind === "bars") {
      const place = at.places.find((p) => px >= p.x && px <= p.x + p.width && py >= p.y && py <= p.y + p.height);
      words = place?.words ?? [];
    } else if (px >= at.left && px <= at.right) {
      words = wordsAt(data, at.across[0] + ((px - at.left) / (at.right - at.left)) * (at.across[1] - at.across[0]));
      this.svg.querySelector(".pointer").setAttribute("d", `M${px} ${at.top}V${at.bottom}`);
    }
    if (!words.length) {
      this.hide();
      return;
    }
    this.card.innerHTML = words
      .map((line, n) => (n ? `<div>${escaped(line)}</div>` : `<b>${escaped(line)}</b>`))
      .join("");
    this.card.hidden = false;
    const room = this.root.clientWidth - px > this.card.offsetWidth + 20;
    this.card.style.left = `${room ? px + 12 : Math.max(0, px - this.card.offsetWidth - 12)}px`;
    this.card.style.top = `${Math.max(0, py - this.card.offsetHeight - 8)}px`;
  }

  hide() {
    this.card.hidden = true;
    this.svg.querySelector(".pointer")?.setAttribute("d", "");
  }

  // A file that stands alone: what the page's style gives is written into it.
  save() {
    const { color, backgroundColor } = getComputedStyle(this.root);
    const ground = getComputedStyle(document.body).backgroundColor || backgroundColor;
    const style = `text{font:11.5px system-ui,sans-serif;fill:${color}}.grid{stroke:${color};opacity:.15}.ground{fill:${color};opacity:.05}`;
    const [, , width, height] = this.svg.getAttribute("viewBox").split(" ");
    const file = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><style>${style}</style><rect width="100%" height="100%" fill="${ground}"/>${this.svg.innerHTML}</svg>`;
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([file], { type: "image/svg+xml" }));
    anchor.download = "chart.svg";
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  }
}

export default function ({ data, parentElement }) {
  parentElement.chart ??= new ChartView(parentElement);
  parentElement.chart.show(data);
  // Streamlit also cleans up after a run that the next one overtook; the chart then stays.
  return () => {
    if (!parentElement.isConnected) parentElement.chart?.watch.disconnect();
  };
}
