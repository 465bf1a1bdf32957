// A text in the browser's own storage. It goes to Python once, and again when another tab has
// changed it; a text that Python sends with a later token is written. A quiet one only writes.
export default ({ data, setStateValue, parentElement }) => {
  const memory = ((globalThis.browserStores ??= {})[data.name] ??= { written: "" });
  let text = "",
    isKept = true;
  try {
    if (data.token && data.token > memory.written) {
      if (data.text) localStorage.setItem(data.name, data.text);
      else localStorage.removeItem(data.name);
      memory.written = data.token;
    }
    text = localStorage.getItem(data.name) ?? "";
  } catch {
    isKept = false;
  }
  if (data.quiet) return;
  const sent = JSON.stringify([text, isKept]);
  if (parentElement.sent === sent) return;
  parentElement.sent = sent;
  setStateValue("stored", { text, kept: isKept });
};
