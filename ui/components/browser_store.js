// A text in the browser's own storage: what is found there goes to Python once, and again when
// another tab has changed it; what Python sends with a new token is written.
export default ({ data, setStateValue, parentElement }) => {
  const memory = ((globalThis.browserStores ??= {})[data.name] ??= { written: "" });
  let found = "",
    isKept = true;
  try {
    if (data.token && data.token !== memory.written) {
      if (data.text) localStorage.setItem(data.name, data.text);
      else localStorage.removeItem(data.name);
      memory.written = data.token;
    }
    found = localStorage.getItem(data.name) ?? "";
  } catch {
    isKept = false;
  }
  const told = JSON.stringify([found, isKept]);
  if (parentElement.told === told) return;
  parentElement.told = told;
  setStateValue("found", { text: found, kept: isKept });
};
