// The line that is looked at, move by move: what the search expects to be played.

const MOST_STEPS = 200;

function stepsHtml(grown, line, game, shown) {
  const { tree } = grown;
  return line
    .slice(0, MOST_STEPS)
    .map((node, i) => {
      const move = tree.move + tree.depth[node] - 1,
        share = grown.visits[node] / Math.max(1, grown.count);
      const action = tree.action[node],
        error = tree.error(node);
      const real =
        tree.state[node] === ILLEGAL
          ? '<em class="worse" title="Only imagined: the rules forbid it">illegal</em>'
          : error === null
            ? ""
            : Math.abs(error) < 1e-10
              ? ""
              : `<em class="unsure" title="Imagined reward less the real one">${signedTime(error)}</em>`;
      const played =
        game.move_action[move] === action ? "" : '<small title="The game went another way here">≠ game</small>';
      return `<li id="step-${i}" role="option" data-step="${i}" aria-selected="${i === shown}"${i > shown ? ' class="later"' : ""}>
      <span class="slot">${(move + 1).toLocaleString("en")}</span>${actionHtml(action)}
      <span class="what" title="${escapeText(game.sentence(move))}">${escapeText(game.tensor(move))}<small> ${escapeText(game.instruction(game.move_time[move]))}</small></span>
      ${played}${real}<span class="support" title="${grown.visits[node]} of ${grown.count} simulations"><i style="width:${Math.round(100 * share)}%"></i></span></li>`;
    })
    .join("");
}
