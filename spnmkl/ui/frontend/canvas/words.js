// What all parts of the canvas use. The files of this folder are joined into one script in the order that
// spnmkl/ui/parts/canvas.py gives. A drawing is { nodes, edges, closed }: nodes as records of the structure format,
// edges as [parent, child], closed the ids of the groups that are drawn as one box. Drawings and their records are
// never changed in place: an edit makes new ones, so that the history costs little and a record can be told by identity.

const PREFIX = { sum: "s", product: "p", kernel: "k" };
const SIGN = { sum: "+", product: "×" };
const FORMAT = { format: "spnmkl/structure", version: 1 };
const KINDS = ["sum", "product", "kernel"];
const LEAST_TEXT = 11; // px on the screen; smaller text is not drawn
const MOST_STEPS = 200; // of history

const edgeName = ([from, to]) => JSON.stringify([from, to]);
const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
const clamp = (value, least, most) => Math.max(least, Math.min(most, value));
const byId = (nodes) => new Map(nodes.map((n) => [n.id, n]));
const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

function element(tag, attributes = {}, ...children) { // texts become text nodes: never markup
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}
