// The store: keeps the games that Python sent, and the code that the small view calls.

const KEPT_GAMES = 2;

function showSearch(component) {
  const { games, template, style } = globalThis.searchTrees, root = component.parentElement;
  const [header] = unpack(component.data), game = games.get(header.game);
  if (!game || !template) return;
  const board = new Board(component.data, game);
  root.searchView ??= new SearchView(root, template, style);
  root.searchView.update(component, game, board);
}

export default function ({ data, parentElement }) {
  const shared = (globalThis.searchTrees ??= { games: new Map(), shows: new Map() });
  const game = new Game(data);
  shared.games.delete(game.id);
  shared.games.set(game.id, game);
  while (shared.games.size > KEPT_GAMES) shared.games.delete(shared.games.keys().next().value);
  shared.template = parentElement.querySelector("template");
  shared.style = parentElement.querySelector("style");
  shared.showSearch = showSearch;
  for (const show of shared.shows.values()) show();
}
