// The script that Streamlit mounts at every step: it hands its component to the stored view.
// Streamlit also cleans up after a step that the next one overtook; the view then stays.
export default (c) => {
  const m = ((globalThis.storedViews ??= {})[VIEW] ??= { shows: new Map() });
  m.shows.set(c.key, c);
  m.show?.(c);
  return () => !c.parentElement.isConnected && m.shows.delete(c.key) && c.parentElement.view?.destroy();
};
