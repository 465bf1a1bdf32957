// The root in numbers: prior, visits and improved policy side by side, and what each action is worth.

function percent(share) {
  return share === null ? "–" : `${(100 * share).toFixed(share > 0.0995 || !share ? 0 : 1)} %`;
}

function bar(share, text, background) {
  const width = Math.round(100 * Math.min(1, share ?? 0));
  return `<td class="bar-cell"><i style="width:${width}%;background:${background}"></i><span>${text}</span></td>`;
}

// `saved`: seconds saved before this move plus par of the rest, to which points are added.
function rootRows(grown, saved, hovered) {
  const { tree } = grown,
    total = Math.max(1, grown.count),
    policy = grown.policy,
    { leader } = grown;
  const best = leader < 0 ? null : grown.worthOf(leader);
  const rows = [...Array(NUM_ACTIONS).keys()].map((a) =>
    rootRow(grown, { a, total, policy, best, saved, leader, hovered }),
  );
  return rows.join("");
}

function rootHead() {
  const names = ["action", "prior", "visits", "improved policy", "saves in the end"];
  return `<tr>${names.map((name) => `<th>${termHtml(name)}</th>`).join("")}</tr>`;
}

// Rows anew, as `html` says, each in its place: what has the focus keeps it, and a click that has
// begun on a row ends on it.
function refill(list, html) {
  const made = document.createElement("template");
  made.innerHTML = html;
  const rows = [...made.content.children];
  while (list.children.length > rows.length) list.lastElementChild.remove();
  for (const [number, row] of rows.entries()) {
    const known = list.children[number];
    if (!known) list.append(row);
    else if (!known.isEqualNode(row)) {
      for (const name of known.getAttributeNames()) if (!row.hasAttribute(name)) known.removeAttribute(name);
      for (const name of row.getAttributeNames()) known.setAttribute(name, row.getAttribute(name));
      known.replaceChildren(...row.childNodes);
    }
  }
}

function rootRow(grown, { a, total, policy, best, saved, leader, hovered }) {
  const { tree } = grown,
    visits = grown.visitsOf(a),
    worth = grown.worthOf(a);
  if (!tree.legal[a])
    return `<tr class="refused" tabindex="-1"><th title="${ACTIONS[a]}">${shortAction(a)}</th><td colspan="4">not legal here</td></tr>`;
  const lead =
    worth === null || best === null || a === leader
      ? ""
      : ` <em class="${gapClass(worth - best, visits)}">${signedTime((worth - best) * tree.point_s)}</em>`;
  const value = worth === null ? "not searched" : `${timeText(saved + worth * tree.point_s)}${lead}`;
  const title = worth === null ? "" : ` title="${worth.toFixed(3)} points above par"`;
  const marks = `${a === leader ? "●" : ""}${a === tree.chosen ? '<small title="played in the game"> played</small>' : ""}`;
  return `<tr data-action="${a}" tabindex="0"${a === hovered ? ' class="hovered"' : ""}><th>${actionHtml(a)} ${marks}</th>
    ${bar(tree.policies.prior[a], percent(tree.policies.prior[a]), "var(--st-gray-color)")}${bar(visits / total, visits.toLocaleString("en"), barOf(a))}
    ${bar(policy?.[a] ?? 0, percent(policy ? policy[a] : null), "var(--st-violet-color)")}<td class="worth"${title}>${value}</td></tr>`;
}

// The class of a difference in worth; with few visits it says neither better nor worse.
function gapClass(gap, visits) {
  return visits < FEW_VISITS ? "unsure" : gap < 0 ? "worse" : "better";
}

// A node in a few lines, for the hover card.
function nodeCard(grown, node, game) {
  const { tree } = grown,
    decided = tree.move + tree.depth[node] - 1,
    us = (points) => signedTime(points * tree.point_s);
  if (!node)
    return cardOf("This position", [
      ["value", us(grown.value[0])],
      ["networks alone", us(tree.raw[0])],
      ["simulations", grown.count.toLocaleString("en")],
    ]);
  const rows = [
    ["move", `${(decided + 1).toLocaleString("en")}: ${game.sentence(decided)}`],
    ["visits", `${grown.visits[node].toLocaleString("en")} of ${(grown.count).toLocaleString("en")}`],
    ["worth", `${us(grown.lead(node))} against the root`],
    ["value after it", `${us(tree.isOver(node) ? 0 : grown.value[node])} above par (networks ${us(tree.raw[node])})`],
    ["reward", `${us(tree.reward[node])} above par`],
    ["prior", percent(tree.prior[node])],
  ];
  const error = tree.error(node);
  if (tree.state[node] === ILLEGAL) rows.push(["in the real game", "illegal: only imagined"]);
  else if (error !== null)
    rows.push([
      "really earns",
      `${timeOrNone(tree.real[node])} (${Math.abs(error) < 1e-10 ? "as imagined" : `imagined ${signedTime(error)}`})`,
    ]);
  const [offset, size, start, end] = tree.place.subarray(5 * node, 5 * node + 4);
  if (offset >= 0)
    rows.push([
      "takes",
      `${sizeText(size * game.granule)} at 0x${(offset * game.granule).toString(16)}, ${slotsText(start, end)}`,
    ]);
  return cardOf(ACTIONS[tree.action[node]], rows);
}
