// The view's own code: as small as can be, since it travels with every change.
export default function (component) {
  const shared = (globalThis.sideBySide ??= { plans: new Map(), shows: new Map() });
  const show = () => shared.showSheet?.(component);
  shared.shows.set(component.key, show);
  show();
  return () => {
    shared.shows.delete(component.key);
    component.parentElement.sheet?.destroy();
  };
}
