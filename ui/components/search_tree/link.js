// The view's own code: as small as can be, since it travels with every move.
export default function (component) {
  const shared = (globalThis.searchTrees ??= { games: new Map(), shows: new Map() });
  const show = () => shared.showSearch?.(component);
  shared.shows.set(component.key, show);
  show();
  return () => {
    shared.shows.delete(component.key);
    component.parentElement.searchView?.destroy();
  };
}
