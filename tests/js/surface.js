// A canvas without a page, and the pointers on it.

export function surface() {
  const heard = {};
  const canvas = {
    addEventListener: (name, hear) => (heard[name] ??= []).push(hear),
    setPointerCapture() {},
    clientWidth: 200,
    clientHeight: 200,
  };
  // As in a browser the capture ends with the press, however that ends.
  const send = (name, offsetX, more = {}) => {
    const event = { type: name, offsetX, offsetY: 0, pointerId: 1, button: 0, buttons: 1, ...more };
    for (const hear of heard[name] ?? []) hear(event);
    if (["pointerup", "pointercancel"].includes(name)) send("lostpointercapture", offsetX, more);
  };
  return { canvas, send };
}
