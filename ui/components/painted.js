// Tells Python, once, that the browser has drawn the page and has nothing else to do.
const PATIENCE_MS = 3_000;

export default ({ setStateValue, parentElement }) => {
  if (parentElement.isWaiting) return;
  parentElement.isWaiting = true;
  const tell = () => setStateValue("painted", true);
  requestAnimationFrame(() => {
    if (globalThis.requestIdleCallback) requestIdleCallback(tell, { timeout: PATIENCE_MS });
    else setTimeout(tell, 0);
  });
};
