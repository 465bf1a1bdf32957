// Whether a later step of the component has been here; see in_order.py for why that happens.
const isOvertaken = ({ data, parentElement }) => {
  const isPacked = data instanceof Uint8Array;
  const step = isPacked ? new DataView(data.buffer, data.byteOffset).getFloat64(data.byteLength - 8, true) : data.step;
  if (step < (parentElement.step ?? 0)) return true;
  parentElement.step = step;
  return false;
};
