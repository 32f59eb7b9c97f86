// Keys and the clipboard. Whatever is used here does not reach Streamlit, which has shortcuts of its own.

const ARROWS = { arrowup: [0, -1], arrowdown: [0, 1], arrowleft: [-1, 0], arrowright: [1, 0] };
const TO_LOOK = new Set(["f", "o", "+", "-", "=", "0", "escape", "/", "?", ...Object.keys(ARROWS)]);
const SHORTCUTS = [
  ["S, P, K", "add a sum, a product or a kernel as a child of the selected node"],
  ["arrows", "walk from node to node; with Shift, move the selection"],
  ["Enter, F2, double-click", "rename in place"],
  ["C, arrows, Enter", "connect the selected node to another"],
  ["drag the blue +", "pull an edge to a node, or to a free place for a new one"],
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["Ctrl+C, X, V, D", "copy, cut, paste, duplicate"],
  ["Ctrl+A, Shift+drag", "select all, select an area; Shift+click adds"],
  ["Del", "delete"],
  ["Ctrl+F or /", "find a node by a part of its name"],
  ["O, Shift+O", "open or close the group of the selected node; all groups"],
  ["L", "arrange"],
  ["F, +, −, 0", "fit to view, zoom in and out, 100 %"],
  ["right button, Shift+F10", "menu"],
  ["V, Esc", "back to selecting"],
];

const Keys = {
  listenToKeys() {
    const on = { signal: this.events.signal };
    this.frame.addEventListener("keydown", (event) => this.key(event), on);
    for (const name of ["copy", "cut", "paste"]) document.addEventListener(name, (event) => this.clipboard(event), on);
  },

  typing(event) { return event.composedPath()[0]?.closest?.("input, .menu, .sheet, .palette, .found") ?? null; },

  key(event) {
    const key = event.key.toLowerCase();
    const held = event.ctrlKey || event.metaKey;
    if (this.typing(event)) return void event.stopPropagation(); // fields and menus have their own
    const onButton = event.composedPath()[0]?.closest?.("button") && (key === "enter" || key === " ");
    if (onButton || event.altKey || this.readonly && (held && key !== "f" || event.shiftKey && key !== "?" || !TO_LOOK.has(key))) return undefined;
    const used = held ? this.heldKey(key, event.shiftKey) : this.plainKey(key, event.shiftKey);
    if (used) { event.preventDefault(); event.stopPropagation(); } else if (held && "cxv".includes(key)) event.stopPropagation();
    return undefined;
  },

  heldKey(key, shift) {
    const acts = {
      z: () => this.step(shift ? 1 : -1), y: () => this.step(1), d: () => this.duplicate(), f: () => this.openSearch(),
      a: () => this.choose(this.drawing.nodes.map((n) => n.id)),
    };
    acts[key]?.();
    return key in acts;
  },

  plainKey(key, shift) {
    const acts = {
      s: () => this.addByKey("sum"), p: () => this.addByKey("product"), k: () => this.addByKey("kernel"),
      c: () => this.beginEdge(), enter: () => this.enter(), f2: () => this.renameChosen(), delete: () => this.remove(), backspace: () => this.remove(),
      escape: () => this.escape(), v: () => this.begin("select"), f: () => this.fit(), l: () => this.arrange(), o: () => this.toggleChosen(),
      "+": () => this.view.zoom(1.25), "=": () => this.view.zoom(1.25), "-": () => this.view.zoom(0.8), 0: () => this.view.zoom(1 / this.view.scale),
      "/": () => this.openSearch(), "?": () => this.openSheet(), contextmenu: () => this.menuByKey(),
    };
    if (key === "f10" && shift) this.menuByKey();
    else if (key === "o" && shift) this.toggleAll();
    else if (ARROWS[key]) { if (shift) this.move(this.selected(), ...ARROWS[key].map((d) => 10 * d)); else this.walk(...ARROWS[key]); } else if (acts[key]) acts[key]();
    else return false;
    return true;
  },

  clipboard(event) {
    const inside = this.root.activeElement ?? this.root.querySelector?.(":focus");
    if (!inside || inside.matches("input") || !this.frame.contains(inside) || this.readonly) return;
    event.preventDefault();
    if (event.type === "paste") return void this.paste(event.clipboardData.getData("text/plain") || this.clip);
    const text = this.copy();
    if (text) event.clipboardData.setData("text/plain", text);
    if (text && event.type === "cut") this.remove("Cut");
  },

  addByKey(kind) {
    const [id] = this.selected();
    if (id && !this.items.has(id)) return this.refuse("Open the group first.");
    if (id) return this.addBelow(kind, kind === "kernel" && this.node(id).kind === "kernel" ? this.takesKernel(this.node(id)) : this.node(id));
    const { y, seen } = this.view; // a drawing grows to the right
    return this.add(kind, this.placeLoose(kind, { x: seen.left + 0.12 * (seen.right - seen.left) + this.usual(kind).w / 2, y }));
  },

  beginEdge() {
    const [id] = this.selected();
    if (!id) return this.refuse("Select the parent first.");
    this.from = id;
    this.paintSoon();
    return this.say("Walk to the child with the arrow keys and press Enter, or Escape.");
  },

  enter() {
    const { from } = this;
    this.from = null;
    if (from && this.selected()[0]) this.connect(from, this.selected()[0]);
    else this.renameChosen();
    this.paintSoon();
  },

  escape() {
    this.from = null;
    this.closeMenus();
    if (this.mode === "select") this.choose([]);
    this.begin("select");
  },

  takesKernel(node) { // what stands beside a kernel, or beside a sum that a product weights, is below the sum above
    const above = (id) => this.drawing.edges.filter(([, to]) => to === id).map(([from]) => this.node(from));
    const [product] = above(node.id);
    return (product && above(product.id).find((n) => n.kind === "sum")) ?? product ?? node;
  },

  walk(dx, dy) { // to parents and children along the drawing; else ahead, near, and rather straight on than aside
    const items = [...this.items.values()];
    const here = items.find((item) => this.isChosen(item));
    const joined = here && this.runsAcross() === Boolean(dx) ? this.joinedTo(here) : new Set();
    const costs = here && items.map((item) => {
      const along = (item.x - here.x) * dx + (item.y - here.y) * dy;
      const cost = along + 2 * (Math.abs((item.x - here.x) * dy) + Math.abs((item.y - here.y) * dx));
      return { item, along, cost: joined.has(item.id) ? cost - 1e9 : cost };
    }).filter(({ along }) => along > 5).sort((a, b) => a.cost - b.cost);
    const next = here ? costs[0]?.item : items[0];
    if (!next) return;
    this.chooseItem(next, false);
    if (!this.view.shows(next.outline)) this.view.reveal(next.outline);
    this.say(`${next.kind}: ${next.look.title || next.look.text || next.id}`);
  },

  runsAcross() { // from left to right, or else from the top down as in older files
    const [across, down] = [(n) => n.x, (n) => n.y].map((side) => this.drawing.edges.reduce((sum, [from, to]) => sum + side(this.node(to)) - side(this.node(from)), 0));
    return Math.abs(across) >= Math.abs(down);
  },

  joinedTo(item) { // the items that edges lead to and from
    const inside = new Set(item.members ?? [item.id]);
    const shown = (id) => this.items.has(id) ? id : [...this.items.values()].find((one) => one.members?.includes(id))?.id;
    const ends = this.drawing.edges.flatMap(([from, to]) => inside.has(from) === inside.has(to) ? [] : [inside.has(from) ? to : from]);
    return new Set(ends.map(shown));
  },

  toggleChosen() {
    const [id] = this.selected();
    const own = Object.entries(this.groups).filter(([, g]) => g.members.includes(id) || g.parent === id);
    const shut = own.find(([g]) => this.drawing.closed.includes(g));
    const found = shut ?? own[0];
    if (found) this.toggle(found[0]);
    else this.refuse("There is no group here to open or to close.");
  },
};
