export default (c) => {
  const m = ((globalThis.storedViews ??= {})[VIEW] ??= { kept: new Map(), shows: new Map() });
  const show = () => m.show?.(c);
  m.shows.set(c.key, show);
  show();
  return () => {
    m.shows.delete(c.key);
    c.parentElement.view?.destroy();
  };
};
