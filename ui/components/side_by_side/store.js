// The store: keeps the packed plans that Python sent, and the code that the small view calls.

const KEPT_SHEETS = 2;

function showSheet(component) {
  const { plans, template, style } = globalThis.sideBySide, root = component.parentElement;
  const found = plans.get(component.data.plans);
  if (!found || !template) return;
  root.sheet ??= new Sheet(root, template, style);
  root.sheet.update(component, found);
}

export default function ({ data, parentElement }) {
  const shared = (globalThis.sideBySide ??= { plans: new Map(), shows: new Map() });
  const plans = new Plans(data);
  shared.plans.delete(plans.id);
  shared.plans.set(plans.id, plans);
  while (shared.plans.size > KEPT_SHEETS) shared.plans.delete(shared.plans.keys().next().value);
  shared.template = parentElement.querySelector("template");
  shared.style = parentElement.querySelector("style");
  shared.showSheet = showSheet;
  for (const show of shared.shows.values()) show();
}
