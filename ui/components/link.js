// The script that Streamlit mounts at every step: it hands its component to the stored view.
// Streamlit also cleans up after a step that the next one overtook; the view then stays. A step may
// come so late that its place has left the page, and another place has its key.
export default (c) => {
  const m = ((globalThis.storedViews ??= {})[VIEW] ??= { shows: new Map() });
  const place = c.parentElement;
  if (!place.isConnected || isOvertaken(c)) return;
  m.shows.set(c.key, c);
  m.show?.(c);
  return () => {
    if (place.isConnected) return;
    if (m.shows.get(c.key)?.parentElement === place) m.shows.delete(c.key);
    place.view?.destroy();
    place.view = null;
  };
};
