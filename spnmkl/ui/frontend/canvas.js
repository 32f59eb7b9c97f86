// The drawing canvas on vis-network. This file owns the viewport, the selection and the drawing being edited;
// Python owns the model. Every edit is sent whole, with the revision it was made on and a running number; Python
// answers with the number it has taken. Only a new revision (template, import, undo, a change in the panel)
// replaces the drawing. Labels are drawn as text on a <canvas>: they are never markup.

const INSTANCES = new WeakMap(); // parentElement lives as long as the mounted component
const LATEST = new WeakMap(); // what Python sent last, which calls that waited for the library must not overtake
const SIGN = { sum: "+", product: "×" };
const PREFIX = { sum: "s", product: "p", kernel: "k" };
const RADIUS = 17;
const FAR = 0.3; // the scale below which a trained drawing shows nodes and edges larger than they are
const LEVEL = 90; // vertical distance of a node added below another
const APART = 95; // horizontal distance of its neighbours
const HINT = {
  select: "Click a node to change it; S, P and K add one below it.",
  sum: "Click the product that gets a sum, or a free place. Esc ends.",
  product: "Click the sum that gets a product, or a free place. Esc ends.",
  kernel: "Click the product or sum that gets a kernel, or a free place. Esc ends.",
  connect: "Drag from a parent to its child. Esc ends.",
};

async function visLibrary() {
  for (let wait = 0; wait < 400; wait++) {
    if (globalThis.vis?.Network) return globalThis.vis;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error("The drawing library did not load.");
}

class Canvas {
  constructor(root, vis) {
    this.root = root;
    this.frame = root.querySelector(".frame");
    this.stage = root.querySelector(".stage");
    this.status = root.querySelector(".status");
    this.frame.spnCanvas = this; // for tests
    this.revision = null;
    this.sequence = 0;
    this.mode = "select";
    this.from = null; // parent of an edge begun by keyboard
    this.drawing = { nodes: [], edges: [] };
    this.looks = {};
    this.byId = new Map();
    this.redPath = new Set();
    this.widths = new Map();
    this.grown = 1;
    this.nodes = new vis.DataSet();
    this.edges = new vis.DataSet();
    this.events = new AbortController();
    this.readTheme();
    this.network = new vis.Network(this.stage, { nodes: this.nodes, edges: this.edges }, {
      physics: false,
      interaction: { hover: true, hoverConnectedEdges: false, multiselect: true, keyboard: false, selectConnectedEdges: false, tooltipDelay: 400 },
      manipulation: { enabled: false, addEdge: (edge, done) => { done(null); this.connect(edge.from, edge.to); this.setMode("connect"); } },
      edges: { smooth: false, arrows: { to: { enabled: true, scaleFactor: 0.45 } } },
      layout: { improvedLayout: false },
    });
    this.listen();
  }

  listen() {
    const on = { signal: this.events.signal };
    for (const button of this.root.querySelectorAll("button[data-act]"))
      button.addEventListener("click", () => { this.act(button.dataset.act); this.frame.focus({ preventScroll: true }); }, on);
    this.frame.addEventListener("keydown", (event) => this.key(event), on);
    this.stage.addEventListener("pointerdown", (event) => this.selectArea(event), { ...on, capture: true });
    this.network.on("click", (p) => this.click(p));
    this.network.on("dragEnd", (p) => { if (p.nodes.length && this.mode === "select") this.moved(p.nodes); });
    this.stage.addEventListener("pointerleave", () => { this.hideTooltip(); if (this.readonly) this.unhover(); }, on);
    for (const event of ["select", "dragStart"]) this.network.on(event, () => this.tellSelection());
    this.untouched = true; // until the first edit or zoom the drawing is kept in view while the page settles
    for (const event of ["zoom", "dragStart"]) this.network.on(event, () => { this.untouched = false; });
    this.network.on("zoom", () => this.keepVisible());
    this.resize = new ResizeObserver(() => requestAnimationFrame(() => {
      if (this.gone) return;
      this.network.redraw();
      if (this.untouched) this.fit();
    }));
    this.resize.observe(this.stage);
  }

  // From Python

  update(data) {
    this.readTheme();
    if (data.readonly && !this.readonly) { // a trained drawing: to look at and to choose nodes on
      this.readonly = true;
      this.frame.classList.add("readonly");
      this.network.setOptions({ interaction: { dragNodes: false } });
    }
    this.looks = data.looks;
    this.acknowledged = data.acknowledged;
    if (data.revision !== this.revision) {
      const first = this.revision === null;
      this.revision = data.revision;
      this.waiting = false;
      this.drawing = { nodes: data.nodes.map((n) => ({ ...n })), edges: data.edges.map((e) => [...e]) };
      this.show();
      const kept = this.selected().filter((id) => this.node(id));
      this.choose(data.select?.length ? data.select.filter((id) => this.node(id)) : kept);
      if (first) this.network.once("afterDrawing", () => this.fit());
      else if (data.fit) this.fit();
      if (data.message) this.say(data.message);
      else if (first && !this.readonly) this.say(HINT.select);
    } else {
      this.show();
    }
    this.frame.dispatchEvent(new Event("updated")); // a replay may be showing an earlier iteration
    if (!this.readonly) for (const act of ["undo", "redo"]) this.root.querySelector(`[data-act=${act}]`).disabled = !data[act];
  }

  show() {
    // Tell vis of what changed alone: a drawing of hundreds of nodes is not built anew for one that moved.
    this.frame.classList.toggle("empty", !this.drawing.nodes.length);
    this.byId = new Map(this.drawing.nodes.map((n) => [n.id, n]));
    this.redPath = new Set(this.looks.path?.nodes ?? []);
    const red = new Set((this.looks.path?.edges ?? []).map(edgeName));
    const nodes = new Map(this.drawing.nodes.map((n) => [n.id, `${n.x} ${n.y} ${this.look(n.id).title ?? n.id}`]));
    const edges = new Map(this.drawing.edges.map((edge) => {
      const marked = red.has(edgeName(edge));
      const { width = 1.3, color = this.color.line, title } = this.looks.edges?.[edgeName(edge)] ?? {};
      return [edgeName(edge), JSON.stringify({ width: this.grown * (marked ? Math.max(this.grown > 1 ? 6 : 3, width) : width), color: marked ? this.color.red : color, highlight: this.color.primary, title })];
    }));
    const gone = (set, known) => set.remove(set.getIds().filter((id) => !known.has(id)));
    gone(this.edges, edges);
    gone(this.nodes, nodes);
    const changed = (known, shown) => [...known].filter(([id, look]) => shown?.get(id) !== look).map(([id]) => id);
    this.nodes.update(changed(nodes, this.shownNodes).map((id) => {
      const { x, y } = this.byId.get(id);
      return { id, x, y, shape: "custom", label: id, title: tooltip(this.look(id).title ?? id), ctxRenderer: (view) => this.drawNode(view, id) };
    }));
    this.edges.update(changed(edges, this.shownEdges).map((id) => {
      const [from, to] = JSON.parse(id);
      const { width, color, highlight, title } = JSON.parse(edges.get(id));
      return { id, from, to, width, color: { color, highlight, hover: highlight }, title: title && tooltip(title) };
    }));
    [this.shownNodes, this.shownEdges] = [nodes, edges];
    const looks = JSON.stringify([this.looks, this.color]);
    if (looks !== this.shownLooks) this.network.redraw();
    this.shownLooks = looks;
  }

  hideTooltip() { // vis leaves it when the mouse leaves, or when its node is deleted
    for (const box of this.stage.querySelectorAll(".vis-tooltip")) box.style.visibility = "hidden";
  }

  unhover() { // vis leaves this too
    for (const part of [this.network.body.nodes, this.network.body.edges]) for (const drawn of Object.values(part)) drawn.hover = false;
    this.network.redraw();
  }

  look(id) {
    return this.looks.nodes?.[id] ?? {};
  }

  drawNode({ ctx, x, y, state }, id) {
    const n = this.node(id) ?? { id, kind: "kernel" }; // vis may draw a node once more that is being removed
    const look = this.look(id);
    const marked = this.redPath.has(id);
    const grown = look.ink ? 1 : this.grown; // what is pruned must not cover what is not
    const radius = grown * (look.radius ?? RADIUS);
    const ink = look.ink ?? this.color.ink;
    const border = look.error || marked ? this.color.red : state.selected ? this.color.primary : state.hover ? this.color.text : look.border ?? this.color.border;
    const thick = state.selected || look.error || marked ? 3 : 1.4;
    const text = n.kind === "kernel" ? cut(look.text ?? n.id, 34) : SIGN[n.kind];
    const width = n.kind === "kernel" ? Math.max(52, this.textWidth(ctx, text) + 20) : 2 * radius;
    const height = n.kind === "kernel" ? 30 : 2 * radius;
    const outline = (more) => {
      ctx.beginPath();
      if (n.kind === "kernel") ctx.roundRect(x - width / 2 - more, y - height / 2 - more, width + 2 * more, height + 2 * more, 4 + more);
      else ctx.arc(x, y, radius + more, 0, 2 * Math.PI);
    };
    return {
      drawNode: () => {
        ctx.save();
        outline(0);
        ctx.fillStyle = look.fill ?? this.color[n.kind];
        ctx.fill();
        ctx.lineWidth = thick * grown;
        ctx.strokeStyle = border;
        ctx.stroke();
        if (state.selected && border === this.color.red) { outline(5); ctx.lineWidth = 2 * grown; ctx.strokeStyle = this.color.primary; ctx.stroke(); }
        if (id === this.from) { ctx.setLineDash([4, 3]); ctx.strokeStyle = this.color.primary; ctx.strokeRect(x - width / 2 - 5, y - height / 2 - 5, width + 10, height + 10); }
        ctx.fillStyle = ink;
        ctx.textAlign = "center";
        ctx.textBaseline = "middle";
        ctx.font = n.kind === "kernel" ? `14px ${this.color.face}` : `${22 * grown}px ${this.color.face}`;
        ctx.fillText(text, x, y + 1);
        if (look.weight) this.drawBeside(ctx, x + radius + 4, y - (look.rise ?? 0), look);
        ctx.restore();
      },
      nodeDimensions: { width, height },
    };
  }

  drawBeside(ctx, x, y, look) {
    ctx.fillStyle = look.ink ?? this.color.text;
    ctx.textAlign = "left";
    ctx.lineWidth = 4;
    ctx.strokeStyle = this.color.background;
    const lines = look.value ? [[`italic 14px ${this.color.face}`, look.weight, -4], [`12px ${this.color.face}`, look.value, 11]] : [[`italic 14px ${this.color.face}`, look.weight, 5]];
    for (const [font, text, down] of lines) {
      ctx.font = font;
      ctx.strokeText(cut(text, 18), x, y + down);
      ctx.fillText(cut(text, 18), x, y + down);
    }
  }

  textWidth(ctx, text) {
    ctx.font = `14px ${this.color.face}`;
    if (!this.widths.has(text)) this.widths.set(text, ctx.measureText(text).width);
    return this.widths.get(text);
  }

  readTheme() {
    const style = getComputedStyle(this.root.host ?? this.root);
    const value = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
    this.color = {
      text: value("--st-text-color", "#222"), background: value("--st-background-color", "#fff"), line: value("--st-gray-color", "#888"), border: value("--st-gray-color", "#888"),
      primary: value("--st-primary-color", "#1f6feb"), red: value("--st-red-color", "#d33"), face: value("--st-font", "sans-serif"),
      ink: "#10151c", sum: "#a9d0f5", product: "#ffd599", kernel: "#c3e6bd",
    };
  }

  // To Python

  send(what) {
    if (this.readonly) return;
    this.untouched = false;
    this.hideTooltip();
    this.sequence += 1;
    this.show();
    this.say(what);
    const nodes = this.drawing.nodes.map(({ id, kind, x, y, copy }) => ({ id, kind, x, y, ...(copy ? { copy } : {}) }));
    const message = { revision: this.revision, sequence: this.sequence, nodes, edges: this.drawing.edges, what };
    this.api.setStateValue("drawing", message);
    clearTimeout(this.retry); // Streamlit may drop a message that arrives while it reruns: send again until it is taken
    this.retry = setTimeout(() => {
      if (this.acknowledged !== `${message.revision}/${message.sequence}` && message.revision === this.revision) this.api.setStateValue("drawing", { ...message, again: Date.now() });
    }, 2500);
    this.tellSelection();
  }

  ask(command) {
    if (this.waiting) return;
    this.waiting = true; // no edit may overtake a new revision
    setTimeout(() => { this.waiting = false; }, 2000);
    this.api.setTriggerValue("command", command);
  }

  tellSelection() {
    const ids = this.selected();
    if (String(ids) === this.told) return;
    this.told = String(ids);
    this.api.setStateValue("selection", ids);
  }

  // Editing

  node(id) { return this.byId.get(id); }
  selected() { return this.network.getSelectedNodes(); }
  choose(ids) { this.network.selectNodes(ids, false); } // without the edges, as a click does

  freshId(kind) {
    const taken = this.drawing.nodes.map((n) => n.id).filter((id) => id.startsWith(PREFIX[kind])).map((id) => Number(id.slice(1))).filter(Number.isInteger);
    return PREFIX[kind] + (Math.max(0, ...taken) + 1);
  }

  place(kind, x, y) {
    const node = { id: this.freshId(kind), kind, x: Math.round(x), y: Math.round(y) };
    this.drawing.nodes.push(node);
    return node;
  }

  add(kind, at) {
    this.added(this.place(kind, at.x, at.y), `Added ${kind}`);
  }

  addBelow(kind, parent) {
    if (parent.kind === "kernel") return this.refuse("A kernel is a leaf and has no children.");
    const brothers = this.drawing.edges.filter(([from]) => from === parent.id).map(([, to]) => this.node(to).x);
    const between = parent.kind === "sum" && kind !== "product" ? LEVEL : 0;
    const spot = this.freeSpot(brothers.length ? Math.max(...brothers) + APART : parent.x, parent.y + LEVEL + between);
    const child = this.place(kind, spot.x, spot.y);
    this.link(parent, child, { x: child.x, y: child.y - LEVEL });
    this.added(child, `Added ${kind}`, ` below ${parent.id}`);
  }

  added(node, what, where = "") {
    this.show();
    this.choose([node.id]);
    this.reveal(node);
    this.send(`${what} ${node.id}${where}.`);
  }

  freeSpot(x, y) { // the nearest one, rather to the right
    const taken = (at) => this.drawing.nodes.some((n) => Math.abs(n.x - at) < APART - 5 && Math.abs(n.y - y) < 40);
    let away = 0;
    while (taken(x + away)) away = away > 0 ? -away : 10 - away;
    return { x: x + away, y };
  }

  link(parent, child, between = { x: (parent.x + child.x) / 2, y: (parent.y + child.y) / 2 }) {
    // A sum adds weighted products: put the product that is missing between.
    if (parent.kind === "sum" && child.kind !== "product") {
      const spot = this.freeSpot(between.x, between.y);
      const middle = this.place("product", spot.x, spot.y);
      this.drawing.edges.push([parent.id, middle.id], [middle.id, child.id]);
      return `Put product ${middle.id} between ${parent.id} and ${child.id}.`;
    }
    this.drawing.edges.push([parent.id, child.id]);
    return `Connected ${parent.id} to ${child.id}.`;
  }

  connect(from, to) {
    const [parent, child] = [this.node(from), this.node(to)];
    if (!parent || !child) return;
    if (from === to) return this.refuse("A node cannot be its own child.");
    if (parent.kind === "kernel") return this.refuse("A kernel is a leaf and has no children.");
    if (this.drawing.edges.some(([a, b]) => a === from && b === to)) return this.refuse(`${from} is connected to ${to} already.`);
    if (this.reaches(to, from)) return this.refuse("This edge would close a cycle.");
    const what = this.link(parent, child);
    this.send(what);
  }

  reaches(from, to) {
    const below = new Map();
    for (const [a, b] of this.drawing.edges) below.set(a, [...(below.get(a) ?? []), b]);
    const seen = new Set([from]);
    for (const id of seen) for (const child of below.get(id) ?? []) seen.add(child);
    return seen.has(to);
  }

  remove() {
    const nodes = new Set(this.selected());
    const edges = new Set(this.network.getSelectedEdges());
    if (!nodes.size && !edges.size) return this.refuse("Select what to delete first.");
    this.drawing.nodes = this.drawing.nodes.filter((n) => !nodes.has(n.id));
    this.drawing.edges = this.drawing.edges.filter((e) => !edges.has(edgeName(e)) && !nodes.has(e[0]) && !nodes.has(e[1]));
    this.network.unselectAll();
    this.send(`Deleted ${count(nodes.size, "node")}${edges.size ? ` and ${count(edges.size, "edge")}` : ""}.`);
  }

  duplicate() {
    const chosen = this.selected().map((id) => this.node(id));
    if (!chosen.length) return this.refuse("Select what to duplicate first.");
    const twin = new Map(chosen.map((n) => [n.id, Object.assign(this.place(n.kind, n.x + 40, n.y + 40), { copy: n.copy ?? n.id }).id]));
    for (const [a, b] of [...this.drawing.edges]) if (twin.has(a) && twin.has(b)) this.drawing.edges.push([twin.get(a), twin.get(b)]);
    this.show();
    this.choose([...twin.values()]);
    this.send(`Duplicated ${count(chosen.length, "node")}.`);
  }

  moved(ids) {
    const at = this.network.getPositions(ids);
    for (const id of ids) Object.assign(this.node(id) ?? {}, { x: Math.round(at[id].x), y: Math.round(at[id].y) });
    this.send(`Moved ${count(ids.length, "node")}.`);
  }

  nudge(dx, dy) {
    const ids = this.selected();
    for (const id of ids) { const n = this.node(id); n.x += dx; n.y += dy; }
    if (ids.length) this.send(`Moved ${count(ids.length, "node")}.`);
  }

  // Mouse and keys

  click(p) {
    const id = this.network.getNodeAt(p.pointer.DOM);
    if (SIGN[this.mode] || this.mode === "kernel") {
      if (id) this.addBelow(this.mode, this.node(id));
      else this.add(this.mode, p.pointer.canvas);
      if (!p.event.srcEvent?.shiftKey) this.setMode("select");
    }
  }

  selectArea(event) {
    if (!event.shiftKey || this.mode !== "select" || event.button !== 0) return;
    event.stopPropagation();
    event.preventDefault();
    const stage = this.stage.getBoundingClientRect();
    const start = { x: event.clientX - stage.x, y: event.clientY - stage.y };
    const area = this.stage.appendChild(Object.assign(document.createElement("div"), { className: "area" }));
    const drag = new AbortController();
    const box = (e) => {
      const end = { x: e.clientX - stage.x, y: e.clientY - stage.y };
      return { left: Math.min(start.x, end.x), top: Math.min(start.y, end.y), right: Math.max(start.x, end.x), bottom: Math.max(start.y, end.y) };
    };
    window.addEventListener("pointermove", (e) => {
      const b = box(e);
      Object.assign(area.style, { left: `${b.left}px`, top: `${b.top}px`, width: `${b.right - b.left}px`, height: `${b.bottom - b.top}px` });
    }, { signal: drag.signal });
    window.addEventListener("pointerup", (e) => {
      drag.abort();
      area.remove();
      const b = box(e);
      const inside = this.drawing.nodes.filter((n) => {
        const q = this.network.canvasToDOM(n);
        return q.x >= b.left && q.x <= b.right && q.y >= b.top && q.y <= b.bottom;
      });
      this.choose(inside.map((n) => n.id));
      this.say(`Selected ${count(inside.length, "node")}.`);
      this.tellSelection();
    }, { signal: drag.signal });
  }

  walk(dx, dy) {
    const here = this.node(this.selected()[0]) ?? this.drawing.nodes[0];
    if (!here) return;
    const ahead = this.drawing.nodes.map((n) => {
      const along = (n.x - here.x) * dx + (n.y - here.y) * dy;
      const aside = Math.abs((n.x - here.x) * dy) + Math.abs((n.y - here.y) * dx);
      return { id: n.id, along, cost: along + 2 * aside };
    }).filter((n) => n.along > 5).sort((a, b) => a.cost - b.cost);
    const next = this.selected().length ? ahead[0]?.id : here.id;
    if (!next) return;
    this.choose([next]);
    this.say(`${this.node(next).kind} ${next}: ${this.look(next).text ?? ""}`);
    this.tellSelection();
  }

  act(name) {
    if (this.waiting && name !== "fit") return;
    const steps = {
      undo: () => this.ask("undo"), redo: () => this.ask("redo"), layout: () => this.ask("layout"),
      delete: () => this.remove(), duplicate: () => this.duplicate(), fit: () => this.fit(),
      in: () => this.zoom(1.25), out: () => this.zoom(0.8),
    };
    (steps[name] ?? (() => this.begin(name)))();
  }

  begin(mode) {
    this.setMode(mode);
    if (!this.readonly) this.say(HINT[mode]);
  }

  setMode(mode) {
    this.mode = mode;
    this.network.disableEditMode();
    if (mode === "connect") this.network.addEdgeMode();
    for (const button of this.root.querySelectorAll("button[aria-pressed], button[data-act=sum], button[data-act=product], button[data-act=kernel], button[data-act=connect]"))
      button.setAttribute("aria-pressed", String(button.dataset.act === mode));
    this.stage.style.cursor = mode === "select" ? "" : "crosshair";
  }

  key(event) {
    const key = event.key.toLowerCase();
    const held = event.ctrlKey || event.metaKey;
    if (this.readonly && !["f", "+", "-", "escape"].includes(key) && !key.startsWith("arrow") || this.readonly && event.shiftKey) return;
    const arrows = { arrowup: [0, -1], arrowdown: [0, 1], arrowleft: [-1, 0], arrowright: [1, 0] };
    const kinds = { s: "sum", p: "product", k: "kernel" };
    let used = true;
    if (held && key === "z") this.act(event.shiftKey ? "redo" : "undo");
    else if (held && key === "y") this.act("redo");
    else if (held && key === "d") this.act("duplicate");
    else if (held && key === "a") { this.choose(this.drawing.nodes.map((n) => n.id)); this.tellSelection(); }
    else if (held || event.altKey || event.target.closest?.("button") && (key === "enter" || key === " ")) used = false;
    else if (arrows[key]) (event.shiftKey ? this.nudge(...arrows[key].map((d) => 10 * d)) : this.walk(...arrows[key]));
    else if (kinds[key]) this.addByKey(kinds[key]);
    else if (key === "c") this.beginEdge();
    else if (key === "enter") this.endEdge();
    else if (key === "delete" || key === "backspace") this.act("delete");
    else if (key === "escape") { this.from = null; this.begin("select"); this.network.unselectAll(); this.tellSelection(); }
    else if ({ v: 1, f: 1, l: 1, "+": 1, "-": 1 }[key]) this.act({ v: "select", f: "fit", l: "layout", "+": "in", "-": "out" }[key]);
    else used = false;
    if (used) { event.preventDefault(); event.stopPropagation(); } // Streamlit has shortcuts of its own
  }

  addByKey(kind) {
    const parent = this.node(this.selected()[0]);
    if (parent) return this.addBelow(kind, parent);
    const middle = this.network.getViewPosition();
    return this.add(kind, this.freeSpot(middle.x, middle.y));
  }

  beginEdge() {
    const [id] = this.selected();
    if (!id) return this.begin("connect");
    this.from = id;
    this.network.redraw();
    return this.say(`Edge from ${id}: walk to its child with the arrow keys and press Enter, or Escape.`);
  }

  endEdge() {
    const [to] = this.selected();
    const from = this.from;
    this.from = null;
    if (from && to) this.connect(from, to);
    this.network.redraw();
  }

  box(n) { // a node with its margin and what is written beside it
    const ctx = this.stage.querySelector("canvas").getContext("2d");
    const half = n.kind === "kernel" ? this.textWidth(ctx, cut(this.look(n.id).text ?? n.id, 34)) / 2 + 10 : RADIUS + 6;
    return { left: n.x - half, right: n.x + half + (n.kind === "product" ? 34 : 0), top: n.y - RADIUS - 6, bottom: n.y + RADIUS + 6 };
  }

  inView(n) {
    const { left, top, right, bottom } = this.box(n);
    const [start, end] = [{ x: left, y: top }, { x: right, y: bottom }].map((corner) => this.network.canvasToDOM(corner));
    return start.x >= 0 && start.y >= 0 && end.x <= this.stage.clientWidth && end.y <= this.stage.clientHeight;
  }

  reveal(node) { // who saw all of the drawing still does; who looks at a part of it keeps the scale
    if (this.inView(node)) return;
    if (this.drawing.nodes.every((n) => n === node || this.inView(n))) this.fit();
    else this.network.moveTo({ position: { x: node.x, y: node.y } });
  }

  fit() { // vis leaves wide margins, which a small page cannot spare
    const boxes = this.drawing.nodes.map((n) => this.box(n));
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!boxes.length || !width || !height) return;
    const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((b) => b[side])));
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((b) => b[side])));
    const scale = Math.min((width - 24) / (right - left), (height - 24) / (bottom - top), 1.15);
    this.network.moveTo({ position: { x: (left + right) / 2, y: (top + bottom) / 2 }, scale });
    this.keepVisible();
  }

  zoom(factor) { this.network.moveTo({ scale: this.network.getScale() * factor }); this.keepVisible(); }

  keepVisible() { // weights and paths of a wide drawing can be told from afar
    const grown = this.readonly ? Math.max(1, Math.round(4 * FAR / this.network.getScale()) / 4) : 1;
    if (grown === this.grown) return;
    this.grown = grown;
    this.show();
  }

  say(text) {
    this.frame.classList.remove("refused");
    this.status.textContent = text;
  }

  refuse(reason) {
    this.say(reason);
    this.frame.classList.add("refused");
  }

  screenPosition(id) {
    const at = this.network.canvasToDOM(this.network.getPositions([id])[id]);
    const stage = this.stage.getBoundingClientRect();
    return { x: stage.x + at.x, y: stage.y + at.y };
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.retry);
    this.events.abort();
    this.resize.disconnect();
    this.network.destroy();
  }
}

const tooltip = (text) => Object.assign(document.createElement("div"), { textContent: text });
const edgeName = ([from, to]) => JSON.stringify([from, to]);
const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

export default async function (component) {
  const root = component.parentElement;
  LATEST.set(root, component);
  if (!INSTANCES.has(root)) {
    const vis = await visLibrary();
    if (!INSTANCES.has(root)) INSTANCES.set(root, new Canvas(root, vis));
  }
  const canvas = INSTANCES.get(root);
  canvas.api = LATEST.get(root);
  canvas.update(canvas.api.data);
  return () => {
    canvas.destroy();
    INSTANCES.delete(root);
  };
}
