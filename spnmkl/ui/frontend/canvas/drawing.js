// Questions to a drawing, and drawings made from drawings: no screen here.

const LEVEL = 110; // how far to the right of its parent a node is put
const LINE = 34; // how far below the last child

function alike(a, b) { // whether two drawings are one, also where one of them leaves out what is usual
  const told = ({ id, kind, x, y, label, p, kernel, features, params, normalize }) => [id, kind, Math.round(10 * x), Math.round(10 * y), label ?? "", p ?? 1,
    kernel ?? "", features ?? "", Object.entries(params ?? {}).sort(), normalize ?? "unit_diagonal"];
  return a === b || same([a.nodes.map(told), a.edges, a.closed ?? []], [b.nodes.map(told), b.edges, b.closed ?? []]);
}

function freshId(nodes, kind) {
  const taken = nodes.map((n) => n.id).filter((id) => id.startsWith(PREFIX[kind])).map((id) => Number(id.slice(1)));
  return PREFIX[kind] + (Math.max(0, ...taken.filter(Number.isInteger)) + 1);
}

function freshNode(kind, given = {}) {
  return { kind, ...(kind === "product" ? { p: 1 } : kind === "kernel" ? { kernel: "rbf" } : {}), ...given };
}

function reached(edges, from) { // with itself
  const below = new Map();
  for (const [a, b] of edges) { if (!below.has(a)) below.set(a, []); below.get(a).push(b); }
  const seen = new Set([from]);
  for (const id of seen) for (const child of below.get(id) ?? []) seen.add(child);
  return seen;
}

function whyNotConnect({ nodes, edges }, from, to) {
  const known = byId(nodes);
  if (!known.has(from) || !known.has(to)) return "There is no such node.";
  if (from === to) return "A node cannot be its own child.";
  if (known.get(from).kind === "kernel") return "A kernel is a leaf and has no children.";
  if (edges.some(([a, b]) => a === from && b === to)) return "These are connected already.";
  if (reached(edges, to).has(from)) return "This edge would close a cycle.";
  return "";
}

function partOf({ nodes, edges }, ids) { // as a structure of its own, to be copied
  const inside = new Set(ids);
  return { nodes: nodes.filter((n) => inside.has(n.id)), edges: edges.filter(([a, b]) => inside.has(a) && inside.has(b)) };
}

function readStructure(text) { // what can be shown; Python checks the rest
  let given;
  try { given = JSON.parse(text); } catch { return null; }
  const good = given?.format === FORMAT.format && Array.isArray(given.nodes) && Array.isArray(given.edges)
    && given.nodes.length > 0 && given.nodes.every((n) => typeof n?.id === "string" && KINDS.includes(n.kind))
    && given.edges.every((e) => Array.isArray(e) && e.length === 2 && e.every((end) => typeof end === "string"));
  return good ? given : null;
}

function withPart(drawing, part, dx, dy) { // the part under fresh ids; returns the new drawing and its new ids
  const nodes = [...drawing.nodes];
  const named = new Map();
  part.nodes.forEach((n, k) => {
    const id = freshId(nodes, n.kind);
    named.set(n.id, id);
    const x = Number.isFinite(n.x) ? n.x : LEVEL * KINDS.indexOf(n.kind);
    const y = Number.isFinite(n.y) ? n.y : LINE * k;
    nodes.push({ ...n, id, x: Math.round(x + dx), y: Math.round(y + dy) });
  });
  const edges = part.edges.filter(([a, b]) => named.has(a) && named.has(b)).map(([a, b]) => [named.get(a), named.get(b)]);
  return { drawing: { ...drawing, nodes, edges: [...drawing.edges, ...edges] }, ids: [...named.values()] };
}

function without(drawing, ids, edges = new Set()) {
  const gone = new Set(ids);
  return {
    ...drawing,
    nodes: drawing.nodes.filter((n) => !gone.has(n.id)),
    edges: drawing.edges.filter((e) => !edges.has(edgeName(e)) && !gone.has(e[0]) && !gone.has(e[1])),
  };
}

function changed(drawing, ids, change) { // some nodes by a function of their record
  const chosen = new Set(ids);
  return { ...drawing, nodes: drawing.nodes.map((n) => (chosen.has(n.id) ? { ...n, ...change(n) } : n)) };
}

function merged(base, theirs, mine) {
  // What Python made of `base` together with what was drawn here since: each side's changes, ours where both changed.
  const [was, their, our] = [base, theirs, mine].map((d) => byId(d.nodes));
  const kept = theirs.nodes.filter((n) => our.has(n.id) || !was.has(n.id)).map((n) => {
    const [before, now] = [was.get(n.id), our.get(n.id)];
    if (!before || !now || same(before, now)) return n;
    const ours = Object.keys({ ...before, ...now }).filter((key) => !same(before[key], now[key]));
    return { ...n, ...Object.fromEntries(ours.map((key) => [key, now[key]])) };
  });
  const added = mine.nodes.filter((n) => !was.has(n.id) && !their.has(n.id));
  const nodes = [...kept, ...added];
  const known = byId(nodes);
  const [before, now] = [base, mine].map((d) => new Set(d.edges.map(edgeName)));
  const theirEdges = new Set(theirs.edges.map(edgeName));
  const edges = [
    ...theirs.edges.filter((e) => now.has(edgeName(e)) || !before.has(edgeName(e))),
    ...mine.edges.filter((e) => !before.has(edgeName(e)) && !theirEdges.has(edgeName(e))),
  ].filter(([a, b]) => known.has(a) && known.has(b));
  return { nodes, edges, closed: theirs.closed };
}

// A kernel's box before Python has seen it, as Python will draw it (spnmkl/structure/text.py, layout.py): where its
// width differs, the box is moved and the drawing sent a second time.

function provisionalText({ id, kernel, features, label }) {
  const columns = features?.length === 1 ? features[0] : features ? count(features.length, "column") : "";
  const number = label === undefined && kernel !== "precomputed" ? /^k([0-9]+)$/.exec(id ?? "")?.[1] : undefined;
  const symbol = number && `K${[...number].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("")}`;
  return [symbol, [kernel, label ?? columns].filter(Boolean).join(" · ")].filter(Boolean).join(" ");
}

function shortText(text, kernels) { // its middle is cut out where there are many kernels
  const length = kernels <= 22 ? 48 : 30;
  return text.length <= length ? text : `${text.slice(0, Math.floor(length / 2)).trim()}…${text.slice(-Math.floor((length - 1) / 2)).trim()}`;
}

function boxWidth(text) {
  const wide = (c) => (" .,:;!|'`()[]{}/ijlftI·".includes(c) ? 0.36 : "mwMW@%".includes(c) ? 0.98 : /[A-Z]/.test(c) ? 0.72 : c <= "~" ? 0.61 : "₀₁₂₃₄₅₆₇₈₉".includes(c) ? 0.45 : 0.66);
  const all = [...text].reduce((sum, c) => sum + 13 * wide(c), 16);
  return clamp(150 + 16 * Math.ceil((all - 150) / 16), 150, 422);
}
