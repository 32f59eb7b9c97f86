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
    const made = { id: freshId(nodes, kind), ...freshNode(kind, given) };
    const { w } = this.provisional(made);
    const spot = at ?? this.placeBelow(made, parent, between);
    const seen = this.inView(parent);
    let above = parent.id;
    if (between) { // a sum adds weighted products: put the one that is missing between
      const x = at ? Math.max(parent.x + 46, (parent.x + spot.x - w / 2) / 2) : spot.x - w / 2 - AHEAD;
      const middle = { id: freshId(nodes, "product"), ...freshNode("product"), x: Math.round(x), y: Math.round(spot.y) };
      nodes.push(middle);
      edges.push([above, middle.id]);
      above = middle.id;
    }
    const child = { ...made, x: Math.round(spot.x), y: Math.round(spot.y) };
    nodes.push(child);
    edges.push([above, child.id]);
    this.edit({ ...this.drawing, nodes, edges }, between ? `Added a ${kind}, with the product that a sum weights it by.` : `Added a ${kind}.`, [child.id]);
    if (!seen || !this.inView(child.id)) this.view.reveal(this.items.get(child.id).outline); // else the view stays
    return child.id;
  },

  connect(from, to) {
    const reason = whyNotConnect(this.drawing, from, to);
    if (reason) return this.refuse(reason);
    const [parent, child] = [this.node(from), this.node(to)];
    if (parent.kind !== "sum" || child.kind === "product")
      return this.edit({ ...this.drawing, edges: [...this.drawing.edges, [from, to]] }, "Connected.", [to]);
    const { w } = this.items.get(to) ?? this.provisional(child);
    const id = freshId(this.drawing.nodes, "product");
    const product = { id, ...freshNode("product"), x: Math.round((parent.x + child.x - w / 2) / 2), y: Math.round(child.y) };
    const edges = [...this.drawing.edges, [from, id], [id, to]];
    return this.edit({ ...this.drawing, nodes: [...this.drawing.nodes, product], edges }, "Connected, with the product that a sum weights it by.", [to]);
  },

  remove(said = "Deleted") {
    const ids = this.selected();
    if (!ids.length && !this.chosenEdges.size) return this.refuse("Select what to delete first.");
    const what = `${said} ${ids.length ? count(ids.length, "node") : count(this.chosenEdges.size, "edge")}.`;
    const left = without(this.drawing, ids, this.chosenEdges), known = byId(left.nodes);
    const closed = left.closed.filter((id) => !this.groups[id] || this.groups[id].members.some((v) => known.has(v))); // new nodes may get the ids of deleted ones
    this.chosenEdges = new Set();
    return this.edit({ ...left, closed }, what, []);
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

  nameOfGroup(item) { // the sum that a closed group stands for, and the product above it where both have one name
    const sum = this.node(item.members[0]), parent = this.node(item.look.parent);
    return sum?.kind !== "sum" ? [] : [sum.id, ...(parent?.label && parent.label === sum.label ? [parent.id] : [])];
  },

  renameGroup(item, label) {
    const given = label.trim().slice(0, 200);
    this.edit(changed(this.drawing, this.nameOfGroup(item), () => ({ label: given || undefined })), given ? `Named ${given}.` : "The name is gone.");
  },

  // Copies

  copied() { return JSON.stringify({ ...FORMAT, ...partOf(this.drawing, this.selected()) }); },

  copy() {
    const ids = this.selected();
    if (!ids.length) { this.refuse("Select what to copy first."); return ""; }
    [this.clip, this.copiedIds] = [this.copied(), ids];
    this.say(`Copied ${count(ids.length, "node")}.`);
    return this.clip;
  },

  paste(text, at = null) { // at a place, else below the selected node, else where the mouse is
    const part = readStructure(text ?? "");
    if (!part) return this.refuse("The clipboard holds no structure.");
    const parent = at ? null : this.takesPart();
    const nodes = part.nodes.map((n, k) => ({ ...n, x: Number.isFinite(n.x) ? n.x : LEVEL * KINDS.indexOf(n.kind), y: Number.isFinite(n.y) ? n.y : LINE * k }));
    return parent ? this.pasteBelow(parent, { ...part, nodes }) : this.pasteLoose({ ...part, nodes }, at);
  },

  takesPart() { // the selected sum or product; what was just copied from here gets its copy beside it
    const [id, ...more] = this.selected();
    if (!id || more.length || !this.items.has(id)) return null;
    const node = this.node(id), parent = node.kind === "kernel" || same(this.copiedIds, [id]) ? this.takesKernel(node) : node;
    return parent.id === id && same(this.copiedIds, [id]) || parent.kind === "kernel" || !this.items.has(parent.id) ? null : parent;
  },

  pasteBelow(parent, part) { // a sum weights what it adds: the products that are missing are put between
    const held = new Set(part.edges.map(([, to]) => to));
    const roots = part.nodes.filter((n) => !held.has(n.id));
    const bare = parent.kind === "sum" ? roots.filter((n) => n.kind !== "product") : [];
    const products = bare.map((n, k) => ({ id: `\0${k}`, ...freshNode("product"), x: n.x - this.provisional(n).w / 2 - AHEAD, y: n.y }));
    const nodes = [...products, ...part.nodes], edges = [...part.edges, ...bare.map((n, k) => [products[k].id, n.id])];
    const above = [...products, ...roots.filter((n) => !bare.includes(n))].map((n) => [parent.id, n.id]);
    const lowest = this.childrenOf(parent.id).reduce((y, n) => Math.max(y, n.y + LINE), -Infinity);
    const left = Math.min(...nodes.map((n) => n.x - this.provisional(n).w / 2)), top = Math.min(...nodes.map((n) => n.y));
    const wished = [parent.x + LEVEL / 2 + NEAR - left, (lowest === -Infinity ? parent.y : lowest) - top];
    return this.insert({ nodes, edges }, ...this.placePart(nodes, ...wished, parent), "Pasted", { above, chosen: roots.map((n) => n.id) });
  },

  pasteLoose(part, at) {
    const over = this.hand.over && this.view.toWorld(this.hand.over.x, this.hand.over.y);
    const { x, y } = at ?? over ?? this.view;
    const middle = (side) => part.nodes.reduce((sum, n) => sum + n[side], 0) / part.nodes.length;
    return this.insert(part, ...this.placePart(part.nodes, x - middle("x"), y - middle("y")), "Pasted");
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
    const moved = this.placePart(part.nodes, 0, Math.max(...ys) - Math.min(...ys) + LINE, above.length ? this.node(above[0][0]) : null);
    return this.insert(part, ...moved, "Duplicated", { above, chosen });
  },

  insert(part, dx, dy, said, { above = [], chosen } = {}) {
    const { drawing: placed, ids } = withPart(this.drawing, part, dx, dy);
    const named = new Map(part.nodes.map((n, k) => [n.id, ids[k]]));
    const drawing = { ...placed, edges: [...placed.edges, ...above.map(([from, to]) => [from, named.get(to)])] };
    this.edit(drawing, `${said} ${count(ids.length, "node")}.`, chosen ? chosen.map((id) => named.get(id)) : ids);
    const places = new Set(part.nodes.map(({ x, y }) => `${x} ${y}`));
    if (places.size < part.nodes.length) return this.arrange(); // they come from a closed group, where all have one place
    const seen = this.view.outline(ids.map((id) => this.items.get(id)).filter(Boolean));
    if (seen && !ids.some((id) => this.inView(id))) this.view.reveal(seen); // there was no room in view
    return undefined;
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
    const fitted = this.view.isFitted, { closed } = history.present;
    const what = history.move(by);
    this.chosen = new Set([...this.chosen].filter((id) => history.present.nodes.some((n) => n.id === id)));
    this.show();
    if (fitted && !same(closed, history.present.closed)) this.view.fit(); // who saw all sees all, with other groups open
    return this.send(`${by < 0 ? "Undone" : "Done again"}${what ? `: ${what}` : "."}`);
  },

  // What Python does: the layout

  ask(closed, seen = {}, how = {}) {
    this.asked += 1;
    this.wish = { number: this.asked, closed: [...closed], ...how };
    this.after = { number: this.asked, closed: [...closed], ...seen };
    this.send("");
  },

  arrange() { this.ask(this.drawing.closed, { fit: true, said: "Arranged." }); },

  // While all of the drawing is seen, others are closed where a group that is opened would make the text too small;
  // else the node that the group hangs on stays where it is seen.
  toggle(id) {
    const group = this.groups[id];
    const anchor = group && (this.items.has(group.parent) ? group.parent : null);
    const closed = new Set(this.drawing.closed);
    const opens = closed.delete(id);
    if (!opens) closed.add(id);
    if (opens && this.items.has(id) && this.isChosen(this.items.get(id))) this.choose([]); // else all that it holds would be marked
    const at = anchor && this.items.get(anchor), said = `${opens ? "Opened" : "Closed"} ${group?.text ?? "the group"}`;
    if (this.view.isFitted) return this.ask(closed, { fit: true, said }, opens ? { opened: id } : {});
    return this.ask(closed, { anchor, at: at && this.view.toScreen(at.x, at.y), show: group?.members, said });
  },

  allGroups() { // but one that holds everything: a single box would be left
    const { length } = this.drawing.nodes.filter((n) => n.kind === "kernel");
    const kernels = (group) => group.members.filter((id) => this.node(id)?.kind === "kernel").length;
    return Object.keys(this.groups).filter((id) => kernels(this.groups[id]) < length && this.groups[id].members.every((v) => this.known.has(v)));
  },

  openAll() { this.ask([], { fit: true, said: "Opened all groups" }); },

  closeAll() { this.ask(new Set([...this.drawing.closed, ...this.allGroups()]), { fit: true, said: "Closed all groups" }); },

  closeToFit() { this.ask(this.drawing.closed, { fit: true, said: "Closed what would be too small to read" }, { fit: true }); },

  toggleAll() { if (this.drawing.closed.length) this.openAll(); else this.closeAll(); },

  goTo(id) { // chosen and in view, whatever it is hidden in
    const hiding = this.drawing.closed.filter((g) => this.groups[g]?.members.includes(id));
    this.choose([id]);
    if (!hiding.length) return this.view.goTo(this.items.get(id).outline);
    return this.ask(this.drawing.closed.filter((g) => !hiding.includes(g)), { goTo: id });
  },
};
