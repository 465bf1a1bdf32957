// What Streamlit mounts at every step: it hands its component to the view that the store made.
export default (c) => {
  const m = ((globalThis.storedViews ??= {})[VIEW] ??= { shows: new Map() });
  m.shows.set(c.key, c);
  m.show?.(c);
  return () => m.shows.delete(c.key) && c.parentElement.view?.destroy();
};
