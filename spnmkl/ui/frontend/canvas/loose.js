// Nodes without a parent keep a drawing from being trained. Each has a button beside it that connects it.

const MOST_OFFERED = 3; // beyond, somebody is still putting nodes down: only the selected one has its button

const Loose = {
  mainRoot() { return this.main ?? null; },

  // What hangs on nothing, with the node that it most likely belongs to.
  findLoose() {
    const { nodes, edges } = this.drawing;
    const held = new Set(edges.map(([, to]) => to)), roots = nodes.filter((n) => !held.has(n.id));
    const below = new Map(roots.map((n) => [n.id, roots.length > 1 ? reached(edges, n.id) : new Set([n.id])]));
    this.main = roots.reduce((best, n) => (best && below.get(best).size >= below.get(n.id).size ? best : n.id), null);
    const parents = roots.length > 1 ? [...below.get(this.main)].map((id) => this.items.get(id)).filter((item) => item?.kind === "sum" || item?.kind === "product") : [];
    const used = new Set(edges.map(([from]) => from)), free = parents.filter((item) => item.kind === "sum" || !used.has(item.id)); // a second factor is rarely meant
    const found = roots.filter((n) => n.id !== this.main && this.items.has(n.id)).map((n) => [n.id, nearestLeft(this.items.get(n.id), free.length ? free : parents)]);
    this.loose = new Map(found.filter(([, parent]) => parent));
  },

  likelyParent() { // of something new: the selected node, the sum beside a selected kernel, else the root
    const [id, ...more] = this.selected();
    const chosen = id && !more.length && this.items.has(id) ? this.node(id) : null;
    const parent = chosen?.kind === "kernel" ? this.takesKernel(chosen) : chosen ?? this.node(this.main);
    return parent && parent.kind !== "kernel" && this.items.has(parent.id) ? parent : null;
  },

  offerLoose() {
    const busy = this.readonly || this.mode !== "select" || this.hand.doing?.dragging || this.drifting;
    const offered = busy ? [] : [...this.loose].filter(([id]) => this.loose.size <= MOST_OFFERED || this.chosen.has(id));
    for (const button of this.stage.querySelectorAll(".loose")) if (!offered.some(([id]) => id === button.dataset.id)) button.remove();
    for (const [id, parent] of offered) this.placeOffer(id, parent);
  },

  placeOffer(id, parent) {
    let button = [...this.stage.querySelectorAll(".loose")].find((one) => one.dataset.id === id);
    const words = `Connect to ${this.called(this.node(parent))}`;
    if (!button) {
      button = element("button", { class: "loose", title: "Nothing leads to this node yet, so the drawing cannot be trained.", onclick: () => { button.remove(); this.frame.focus({ preventScroll: true }); this.connect(this.loose.get(id), id); } });
      button.dataset.id = id;
      this.stage.append(button);
    }
    if (button.textContent !== words) button.textContent = words;
    const item = this.items.get(id), { x, y } = this.view.toScreen(item.x - item.w / 2, item.y + item.h / 2);
    Object.assign(button.style, { left: `${x}px`, top: `${y + 2 * PORT}px` });
    button.hidden = !this.inView(id);
  },
};

function nearestLeft(item, parents) { // rather one that is left of it
  const far = (p) => Math.hypot(p.x - item.x, p.y - item.y) + (p.x < item.x - item.w / 2 ? 0 : 500);
  return parents.reduce((best, p) => (best && far(best) <= far(p) ? best : p), null)?.id ?? null;
}
