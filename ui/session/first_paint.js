// Takes the first paint away when Streamlit's page has something to show in its place.
(() => {
  const LOOK_MS = 40,
    SHOWN = "p, b, h1, h2, h3, button, img, canvas";
  const paint = document.getElementById("first-paint");
  try {
    // A theme that was chosen in the menu is kept under a name that begins so.
    const key = Object.keys(localStorage).find((name) => name.startsWith(`stActiveTheme-${location.pathname}-`));
    const name = key ? JSON.parse(localStorage.getItem(key)).name : "";
    if (/light/i.test(name)) paint.classList.add("light");
    if (/dark/i.test(name)) paint.classList.add("dark");
  } catch {
    // Without a store, or with something else in it, the system's theme it is.
  }
  const stands = () => {
    if (document.querySelector('[role="dialog"], [data-testid="stException"]')) return true;
    const shown = document.querySelectorAll(`.stMainBlockContainer :is(${SHOWN})`);
    return [...shown].some((one) => one.matches("img, canvas") || one.textContent.trim());
  };
  (function look() {
    if (stands()) paint.remove();
    else setTimeout(look, LOOK_MS);
  })();
})();
