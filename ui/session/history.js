// Streamlit makes each new address of a page a step of the browser's history, so that Back would lead
// through all the moves that were looked at, and the page would go on where it is. Here only another
// page is a step; where it was left is in its address.
(() => {
  const push = history.pushState.bind(history),
    pathOf = (url) => new URL(url ?? "", location.href).pathname;
  history.pushState = (state, title, url) => {
    if (pathOf(url) === location.pathname) history.replaceState(state, title, url);
    else push(state, title, url);
  };
})();
