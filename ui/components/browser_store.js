// A text in the browser's own storage. It goes to Python once, and again when another tab has
// changed it; a text that Python sends with a later token is written, unless the storage holds what
// this tab does not know: that goes to Python first, which sends both merged. A quiet one only writes,
// and tells whether that can be done, if it could not before or can no more.
export default ({ data, setStateValue, parentElement }) => {
  const store = storeOf(data.name),
    { isKept } = store,
    isWritten = write(store, data);
  if (!data.quiet) {
    store.look = () => {
      if (parentElement.isConnected) look(store, data.name, parentElement, setStateValue);
    };
  }
  if (!data.quiet || !isWritten || store.isKept !== isKept) store.look();
};

// `known`: the text that this tab has read or written last, `written`: the token of what it wrote,
// `isKept`: whether what it had to write last could be written.
function storeOf(name) {
  const stores = (globalThis.browserStores ??= {});
  if (!stores[name]) {
    const store = { written: "", known: "", isKept: true, look: () => {} };
    stores[name] = store;
    // Only other tabs' changes are told; without a key they have cleared everything.
    addEventListener("storage", ({ key }) => (key === name || key === null) && store.look());
  }
  return stores[name];
}

// Writes a text that is due; returns false if there is one that is not known here.
function write(store, { name, token, text }) {
  if (!token || token <= store.written) return true;
  try {
    const stored = localStorage.getItem(name) ?? "";
    if (stored && stored !== store.known) return false;
    if (text) localStorage.setItem(name, text);
    else localStorage.removeItem(name);
    Object.assign(store, { written: token, known: text, isKept: true });
  } catch {
    store.isKept = false;
  }
  return true;
}

function look(store, name, place, send) {
  let text = "",
    { isKept } = store;
  try {
    text = localStorage.getItem(name) ?? "";
  } catch {
    isKept = false;
  }
  store.known = text;
  const sent = JSON.stringify([text, isKept]);
  if (place.sent === sent) return;
  place.sent = sent;
  send("stored", { text, kept: isKept });
}
