// The store: keeps the packed plans that Python sent, and the code that the small views call.

const KEPT_PLANS = 3;

function registry() {
  return (globalThis.memoryMaps ??= { plans: new Map(), shows: new Map(), looks: new Map() });
}

// Shows a view's data on its map, or leaves the map as it is until the plan has arrived.
function showMap(component) {
  const { plans, template, style } = registry(), root = component.parentElement;
  const plan = plans.get(component.data.plan);
  if (!plan || !template) return;
  root.memoryMap ??= new MapView(root, template, style);
  root.memoryMap.update(component, plan);
}

export default function ({ data, parentElement }) {
  const shared = registry(), plan = unpack(data);
  shared.plans.delete(plan.id);
  shared.plans.set(plan.id, plan);
  while (shared.plans.size > KEPT_PLANS) shared.plans.delete(shared.plans.keys().next().value);
  shared.template = parentElement.querySelector("template");
  shared.style = parentElement.querySelector("style");
  shared.showMap = showMap;
  for (const show of shared.shows.values()) show();
}
