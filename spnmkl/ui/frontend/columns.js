// The columns of the data, for the list from which they are dragged onto the canvas; sent when the data change.
export default function ({ data }) {
  if (globalThis.spnmklColumns?.token === data.token) return;
  globalThis.spnmklColumns = data;
  window.dispatchEvent(new Event("spnmkl-columns"));
}
