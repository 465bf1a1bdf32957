// The lessons as a map: columns by how much comes before, lines from what is needed to what it
// opens. Each lesson is a button, so Tab and Enter work as everywhere.

const SVG = "http://www.w3.org/2000/svg";

function element(name, properties = {}, text = "") {
  const made = Object.assign(document.createElement(name), properties);
  if (text) made.textContent = text;
  return made;
}

function nodeOf(row, data, open) {
  const item = element("li");
  item.style.gridColumn = row.column + 1;
  item.style.gridRow = `${row.row + 1} / span 2`;
  const button = element("button", { type: "button", className: row.state });
  if (row.name === data.next) button.classList.add("next");
  if (data.matches && !data.matches.includes(row.name)) button.classList.add("faint");
  button.dataset.lesson = row.name;
  const foot = element("small");
  if (row.state === "done") {
    const stars = element("span", { className: "stars" }, "★".repeat(row.stars) + "☆".repeat(3 - row.stars));
    stars.setAttribute("aria-label", `${row.stars} of 3 stars`);
    foot.append(stars);
  } else foot.textContent = row.name === data.next ? `Next · ${row.minutes} min` : row.words;
  button.append(element("b", {}, row.title), foot);
  button.onclick = () => open(row.name);
  item.append(button);
  return item;
}

function drawLines(root, rows) {
  const svg = root.querySelector("svg"),
    bounds = root.getBoundingClientRect();
  const boxOf = (name) => root.querySelector(`[data-lesson="${name}"]`).getBoundingClientRect();
  const stateOf = Object.fromEntries(rows.map((row) => [row.name, row.state]));
  svg.replaceChildren();
  for (const row of rows) {
    for (const need of row.needs) {
      const from = boxOf(need),
        to = boxOf(row.name);
      const [x0, y0] = [from.right - bounds.left, from.top + from.height / 2 - bounds.top];
      const [x1, y1] = [to.left - bounds.left, to.top + to.height / 2 - bounds.top];
      const bend = Math.max(12, Math.min(40, (x1 - x0) / 2));
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", `M${x0} ${y0} C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`);
      path.dataset.from = need;
      path.dataset.to = row.name;
      if (stateOf[need] === "done") path.classList.add("done");
      svg.append(path);
    }
  }
}

export default (component) => {
  if (isOvertaken(component)) return;
  const { data, parentElement, setTriggerValue } = component;
  parentElement.querySelector(".lessons")?.remove();
  const root = element("nav", { className: "lessons" });
  root.setAttribute("aria-label", "Map of the lessons");
  const grid = element("ol", { className: "grid" });
  grid.style.gridTemplateColumns = `repeat(${data.columns}, minmax(0, 1fr))`;
  for (const row of data.rows) grid.append(nodeOf(row, data, (name) => setTriggerValue("open", name)));
  root.append(document.createElementNS(SVG, "svg"), grid);
  parentElement.append(root);
  const light = (name, isLit) => {
    for (const path of root.querySelectorAll("path")) {
      path.classList.toggle("lit", isLit && [path.dataset.from, path.dataset.to].includes(name));
    }
  };
  for (const button of root.querySelectorAll("button")) {
    for (const event of ["mouseenter", "focus"])
      button.addEventListener(event, () => light(button.dataset.lesson, true));
    for (const event of ["mouseleave", "blur"])
      button.addEventListener(event, () => light(button.dataset.lesson, false));
  }
  const draw = () => drawLines(root, data.rows);
  const observer = new ResizeObserver(draw);
  observer.observe(root);
  return () => observer.disconnect();
};
