// The variations as a small tree, and who may play on.

const PLAN_LINE = -1;

function drawTree(map, tree) {
  const key = JSON.stringify(tree);
  if (key === map.treeKey) return;
  map.treeKey = key;
  const list = map.root.querySelector(".tree"),
    children = new Map();
  tree.rows.forEach((row, number) => {
    if (!children.has(row[0])) children.set(row[0], []);
    children.get(row[0]).push(number);
  });
  const items = [branch(PLAN_LINE, 0, tree.current, `<b>${escapeText(tree.name)}</b>`, "the plan", "")];
  const walk = (parent, depth) => {
    const inOrder = (children.get(parent) ?? []).sort((a, b) => tree.rows[a][1] - tree.rows[b][1]);
    for (const number of inOrder) {
      items.push(variation(map.plan, tree, number, depth));
      walk(number, depth + 1);
    }
  };
  walk(PLAN_LINE, 1);
  const shown = '[aria-current="true"]',
    { activeElement: held } = list.getRootNode(),
    isHeld = list.contains(held);
  list.innerHTML = items.join("");
  // Whoever is in it by keyboard stays at the same variation.
  if (isHeld) {
    const same = list.querySelector(`[data-number="${held.dataset.number}"]`) ?? list.querySelector(shown);
    same?.focus({ preventScroll: true });
  }
  for (const button of map.root.querySelectorAll('[data-do="undo"], [data-do="redo"]'))
    button.disabled = tree.can ? !tree.can.includes(button.dataset.do) : tree.current === PLAN_LINE;
  map.root.querySelector(".variations .hint").textContent = tree.rows.length
    ? `saved against the plan${tree.as_moves ? " as moves" : ""}, with its rest`
    : "play another action to begin one";
  keepInSight(list.parentElement, list.querySelector(shown));
}

function variation(plan, tree, number, depth) {
  const [, fork, tip, action, soFar, final, by] = tree.rows[number];
  const length = tip === plan.numMoves ? "to the end" : counted(tip - fork, "move");
  const name = `${(fork + 1).toLocaleString("en")} <b>${ACTIONS[action]}</b>${by === "you" ? "" : ` · ${escapeText(by)}`}`;
  const worth = `<em class="${final < 0 ? "worse" : final > 0 ? "better" : ""}" title="So far ${signedTime(soFar * PICO)}">${signedTime(final * PICO)}</em>`;
  return branch(number, depth, tree.current, name, length, worth);
}

function branch(number, depth, current, name, length, worth) {
  const indent = depth ? `<i style="margin-left:${depth * 12 - 10}px">└</i>` : "";
  return (
    `<li role="none"><button role="treeitem" data-do="go" data-number="${number}" aria-level="${depth + 1}"` +
    ` aria-current="${number === current}">${indent}<span>${name}</span><small>${length}</small>${worth}</button></li>`
  );
}

function drawPlayers(map, names) {
  const list = map.root.querySelector(".player"),
    key = names.join();
  if (key === map.playersKey) return;
  map.playersKey = key;
  const chosen = list.value;
  list.innerHTML = names.map((name) => `<option>${escapeText(name)}</option>`).join("");
  if (names.includes(chosen)) list.value = chosen;
}
