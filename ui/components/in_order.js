// Whether a later step of the component has been here; see in_order.py for why that happens.
const isOvertaken = ({ data, parentElement: place }) => {
  const step = data.step ?? new DataView(data.buffer, data.byteOffset).getFloat64(data.byteLength - 8, true);
  if (step < (place.step ?? 0)) return true;
  place.step = step;
  return false;
};
