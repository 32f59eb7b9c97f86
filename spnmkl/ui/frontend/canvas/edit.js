// Edits: each makes a new drawing, shows it at once, enters it into the history and sends it.

const Editing = {
  node(id) { return this.known.get(id); },

  childrenOf(id) { return this.drawing.edges.filter(([from]) => from === id).map(([, to]) => this.node(to)); },

  edit(drawing, what, chosen) {
    if (this.readonly) return;
    this.history.add(drawing, what);
    if (chosen) this.chosen = new Set(chosen);
    this.show();
    this.send(what);
  },

  add(kind, at, given = {}) { // loose, at a place
    const node = { id: freshId(this.drawing.nodes, kind), ...freshNode(kind, given), x: Math.round(at.x), y: Math.round(at.y) };
    this.edit({ ...this.drawing, nodes: [...this.drawing.nodes, node] }, `Added a ${kind}.`, [node.id]);
    return node.id;
  },

  addBelow(kind, parent, { at, ...given } = {}) { // as the last child of a node; beside it, unless a place is given
    if (parent.kind === "kernel") return this.refuse("A kernel is a leaf and has no children.");
    const between = parent.kind === "sum" && kind !== "product";
    const nodes = [...this.drawing.nodes], edges = [...this.drawing.edges];
    const wide = kind === "kernel" ? this.usual("kernel").w / 2 : 0;
    const last = this.childrenOf(parent.id).reduce((lowest, n) => Math.max(lowest, n.y), -Infinity);
    const wished = at ?? { x: parent.x + LEVEL * (between ? 1.6 : 1) + wide, y: last === -Infinity ? parent.y : last + LINE };
    const spot = at ?? this.freeSpot(wished, kind, parent, between);
    let above = parent.id;
    if (between) { // a sum adds weighted products: put the one that is missing between
      const middle = { id: freshId(nodes, "product"), ...freshNode("product"), x: Math.round(Math.max(parent.x + 46, at ? (parent.x + spot.x - wide) / 2 : spot.x - wide - 0.6 * LEVEL)), y: Math.round(spot.y) };
      nodes.push(middle);
      edges.push([above, middle.id]);
      above = middle.id;
    }
    const child = { id: freshId(nodes, kind), ...freshNode(kind, given), x: Math.round(spot.x), y: Math.round(spot.y) };
    nodes.push(child);
    edges.push([above, child.id]);
    this.edit({ ...this.drawing, nodes, edges }, between ? `Added a ${kind}, with the product that a sum weights it by.` : `Added a ${kind}.`, [child.id]);
    const made = this.items.get(child.id);
    if (made && !this.view.shows(made.outline)) this.view.reveal(made.outline);
    return child.id;
  },

  freeSpot(wished, kind, parent, between) { // the nearest free one below or above, rather where it is seen
    const { w, h } = this.usual(kind);
    const left = between ? (parent?.x ?? wished.x) + 30 : wished.x - w / 2;
    const taken = (y) => [...this.items.values()].some((item) => item.outline.right > left && item.outline.left < wished.x + w / 2 + 8
      && item.outline.bottom > y - h / 2 - 3 && item.outline.top < y + h / 2 + 3);
    const seen = this.view.seen;
    const inside = (y) => y - h / 2 >= seen.top && y + h / 2 <= seen.bottom;
    const tries = Array.from({ length: 400 }, (_, k) => wished.y + (k % 2 ? -1 : 1) * Math.ceil(k / 2) * 10);
    const free = tries.filter((y) => !taken(y));
    return { x: wished.x, y: free.find(inside) ?? free[0] ?? wished.y };
  },

  connect(from, to) {
    const reason = whyNotConnect(this.drawing, from, to);
    if (reason) return this.refuse(reason);
    const [parent, child] = [this.node(from), this.node(to)];
    if (parent.kind !== "sum" || child.kind === "product")
      return this.edit({ ...this.drawing, edges: [...this.drawing.edges, [from, to]] }, "Connected.", [to]);
    const { w } = this.items.get(to) ?? this.usual(child.kind);
    const id = freshId(this.drawing.nodes, "product");
    const product = { id, ...freshNode("product"), x: Math.round((parent.x + child.x - w / 2) / 2), y: Math.round(child.y) };
    const edges = [...this.drawing.edges, [from, id], [id, to]];
    return this.edit({ ...this.drawing, nodes: [...this.drawing.nodes, product], edges }, "Connected, with the product that a sum weights it by.", [to]);
  },

  remove(said = "Deleted") {
    const ids = this.selected();
    if (!ids.length && !this.chosenEdges.size) return this.refuse("Select what to delete first.");
    const what = `${said} ${ids.length ? count(ids.length, "node") : count(this.chosenEdges.size, "edge")}.`;
    const left = without(this.drawing, ids, this.chosenEdges);
    this.chosenEdges = new Set();
    return this.edit(left, what, []);
  },

  move(ids, dx, dy) {
    if (!ids.length || !dx && !dy) return;
    this.edit(changed(this.drawing, ids, (n) => ({ x: Math.round(n.x + dx), y: Math.round(n.y + dy) })), `Moved ${count(ids.length, "node")}.`);
  },

  align(side) { // on one line, from top to bottom or from left to right
    const items = this.selected().map((id) => this.items.get(id)).filter(Boolean);
    if (items.length < 2) return this.refuse("Select two nodes or more to align.");
    const lefts = items.map((item) => item.x - item.w / 2), middle = items.reduce((sum, item) => sum + item.y, 0) / items.length;
    const width = new Map(items.map((item) => [item.id, item.w]));
    const place = side === "left" ? (n) => ({ x: Math.round(Math.min(...lefts) + width.get(n.id) / 2) }) : () => ({ y: Math.round(middle) });
    return this.edit(changed(this.drawing, items.map((item) => item.id), place), `Aligned ${count(items.length, "node")}.`);
  },

  rename(id, label) {
    const node = this.node(id);
    const given = label.trim().slice(0, 200);
    if (!node || given === (node.label ?? "")) return;
    this.edit(changed(this.drawing, [id], () => ({ label: given || undefined })), given ? `Named ${given}.` : "The name is gone.");
  },

  // Copies

  copied() { return JSON.stringify({ ...FORMAT, ...partOf(this.drawing, this.selected()) }); },

  copy() {
    if (!this.selected().length) { this.refuse("Select what to copy first."); return ""; }
    this.clip = this.copied();
    this.say(`Copied ${count(this.selected().length, "node")}.`);
    return this.clip;
  },

  paste(text) {
    const part = readStructure(text ?? "");
    if (!part) return this.refuse("The clipboard holds no structure.");
    const { x, y } = this.hand.over ? this.view.toWorld(this.hand.over.x, this.hand.over.y) : this.view;
    const middle = (side) => part.nodes.reduce((sum, n) => sum + (n[side] ?? 0), 0) / part.nodes.length;
    const dx = x - middle("x");
    return this.insert(part, dx, this.clearOf(part, dx, y - middle("y")), "Pasted");
  },

  duplicate() { // below what there is, under the same sums; a kernel alone below its product comes with it
    const chosen = this.selected(), ids = new Set(chosen);
    if (!ids.size) return this.refuse("Select what to duplicate first.");
    const { edges } = this.drawing;
    for (const [from, to] of edges)
      if (ids.has(to) && this.node(to).kind === "kernel" && this.node(from).kind === "product" && this.childrenOf(from).length === 1) ids.add(from);
    const part = partOf(this.drawing, [...ids]);
    const ys = part.nodes.map((n) => n.y);
    const above = edges.filter(([from, to]) => ids.has(to) && !ids.has(from) && this.node(from).kind === "sum");
    return this.insert(part, 0, this.clearOf(part, 0, Math.max(...ys) - Math.min(...ys) + LINE), "Duplicated", { above, chosen });
  },

  clearOf(part, dx, dy) { // how far down the part is out of the way of what is shown
    const hits = (n, y) => [...this.items.values()].some((item) => Math.abs(item.x - n.x - dx) < item.w / 2 + this.usual(n.kind).w / 2
      && Math.abs(item.y - n.y - y) < item.h / 2 + this.usual(n.kind).h / 2);
    const tries = Array.from({ length: 200 }, (_, k) => dy + 10 * k);
    return tries.find((y) => !part.nodes.some((n) => hits(n, y))) ?? dy;
  },

  insert(part, dx, dy, said, { above = [], chosen } = {}) {
    const { drawing: placed, ids } = withPart(this.drawing, part, dx, dy);
    const named = new Map(part.nodes.map((n, k) => [n.id, ids[k]]));
    const drawing = { ...placed, edges: [...placed.edges, ...above.map(([from, to]) => [from, named.get(to)])] };
    this.edit(drawing, `${said} ${count(ids.length, "node")}.`, chosen ? chosen.map((id) => named.get(id)) : ids);
    const places = new Set(part.nodes.map(({ x, y }) => `${x} ${y}`));
    if (places.size < part.nodes.length) this.arrange(); // they come from a closed group, where all have one place
  },

  // Columns of the data

  dropColumns({ name, columns, text, view }, at) {
    const target = at && this.itemAt(at);
    if (target?.kind === "group") return this.refuse("Open the group first.");
    const given = { kernel: text ? "hamming" : "rbf", features: columns, ...(view ? { label: name } : {}) };
    const node = target && this.node(target.id);
    if (node?.kind === "kernel") {
      const kernel = node.kernel === "precomputed" || node.kernel === "hamming" || text ? given.kernel : node.kernel;
      const kept = kernel === node.kernel ? {} : { params: undefined };
      return this.edit(changed(this.drawing, [node.id], () => ({ ...kept, kernel, features: columns, label: given.label })), `Its columns are ${name} now.`, [node.id]);
    }
    return node ? this.addBelow("kernel", node, given) : this.add("kernel", at ?? this.view, given);
  },

  // History

  step(by) {
    const { history } = this;
    if (by < 0 ? !history.canUndo : !history.canRedo) return this.say(by < 0 ? "There is nothing to undo." : "There is nothing to do again.");
    const what = history.move(by);
    this.chosen = new Set([...this.chosen].filter((id) => history.present.nodes.some((n) => n.id === id)));
    this.show();
    return this.send(`${by < 0 ? "Undone" : "Done again"}${what ? `: ${what}` : "."}`);
  },

  // What Python does: the layout

  ask(closed, seen = {}) {
    this.asked += 1;
    this.wish = { number: this.asked, closed: [...closed] };
    this.after = { number: this.asked, ...seen };
    this.send("");
  },

  arrange() { this.ask(this.drawing.closed, { fit: true, said: "Arranged." }); },

  toggle(id) { // the node that the group hangs on stays where it is seen
    const group = this.groups[id];
    const anchor = group && (this.items.has(group.parent) ? group.parent : null);
    const closed = new Set(this.drawing.closed);
    const opens = closed.has(id);
    if (!closed.delete(id)) closed.add(id);
    const at = anchor && this.items.get(anchor);
    this.ask(closed, { anchor, at: at && this.view.toScreen(at.x, at.y), show: group?.members, said: `${opens ? "Opened" : "Closed"} ${group?.text ?? "the group"}.` });
  },

  goTo(id) { // chosen and in view, whatever it is hidden in
    const hiding = this.drawing.closed.filter((g) => this.groups[g]?.members.includes(id));
    this.choose([id]);
    if (!hiding.length) return this.view.goTo(this.items.get(id).outline);
    return this.ask(this.drawing.closed.filter((g) => !hiding.includes(g)), { goTo: id });
  },
};
