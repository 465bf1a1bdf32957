// The view's own code: as small as can be, since it travels with every step.
export default function (component) {
  const shared = (globalThis.memoryMaps ??= { plans: new Map(), shows: new Map() });
  const show = () => shared.showMap?.(component);
  shared.shows.set(component.key, show);
  show();
  return () => {
    shared.shows.delete(component.key);
    component.parentElement.memoryMap?.destroy();
  };
}
