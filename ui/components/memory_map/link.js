export default (c) => {
  const m = (globalThis.memoryMaps ??= { plans: new Map(), shows: new Map(), looks: new Map() });
  const show = () => m.showMap?.(c);
  m.shows.set(c.key, show);
  show();
  return () => { m.shows.delete(c.key); c.parentElement.memoryMap?.destroy(); };
};
