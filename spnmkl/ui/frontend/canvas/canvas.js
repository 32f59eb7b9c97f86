// The canvas: what is shown and what is chosen. Edits, keys, panels and the talk with Python are in files of their own.

const INSTANCES = new WeakMap(); // parentElement lives as long as the mounted component
const CALM = 4000; // ms for which a refusal marks the frame
const HINT = {
  select: "",
  sum: "Click the node that gets a sum, or a free place. Esc ends.",
  product: "Click the node that gets a product, or a free place. Esc ends.",
  kernel: "Click the sum or product that gets a kernel, or a free place. Esc ends.",
};
const USUAL = { sum: { w: 30, h: 30 }, product: { w: 26, h: 26 }, kernel: { w: 150, h: 24 } };

class Canvas {
  constructor(root) {
    this.root = root;
    for (const name of ["frame", "stage", "paper", "map", "status", "facts", "saved"]) this[name] = root.querySelector(`.${name}`);
    this.frame.spnCanvas = this; // for tests, and for the replay of a training
    Object.assign(this, { mode: "select", from: null, history: new History("", { nodes: [], edges: [], closed: [] }), looks: {}, groups: {}, chosen: new Set(), chosenEdges: new Set(), items: new Map(), lines: [], known: new Map(), loose: new Map() });
    Object.assign(this, { revision: null, taken: 0, wish: null, after: null, events: new AbortController(), sent: new Map() });
    this.view = new View(this);
    this.readTheme();
    this.painter = new Painter(this, this.paper);
    this.hand = new Hand(this);
    this.minimap = new Minimap(this, this.map);
    this.listen();
  }

  get drawing() { return this.history.present; }
  get sequence() { return TAB.last; }
  get asked() { return TAB.asked; }
  set asked(n) { TAB.asked = n; }

  get size() { return [Math.round(this.view.width), Math.round(this.view.height)]; }

  listen() {
    const on = { signal: this.events.signal };
    for (const button of this.root.querySelectorAll("button[data-act]"))
      button.addEventListener("click", () => { this.closeMenus(); if (!/columns|find|help|groups/.test(button.dataset.act)) this.frame.focus({ preventScroll: true }); this.act(button.dataset.act); }, on);
    this.listenToKeys();
    window.addEventListener("pagehide", () => this.history.store(), on);
    window.addEventListener("spnmkl:saved", () => { if (!this.readonly && this.revision !== null) this.tellSaved(); }, on);
    window.addEventListener("spnmkl-columns", () => this.refreshPalette?.(), on);
    this.frame.addEventListener("transitionend", (event) => { if (event.target === this.frame) { this.readTheme(); this.show(); } }, on);
    this.resize = new ResizeObserver(() => this.resized());
    this.resize.observe(this.stage);
    if (document.documentElement.dataset.spnFolded) this.press("fold", true);
  }

  resized() {
    if (this.gone) return;
    const { clientWidth, clientHeight } = this.stage;
    if (!clientWidth || clientWidth === this.view.width && clientHeight === this.view.height) return;
    const first = !this.view.width || this.untouched;
    this.view.resize(clientWidth, clientHeight);
    this.painter.resize(clientWidth, clientHeight);
    if (first) this.view.fit();
    this.paint();
    this.tellSize();
  }

  act(name) {
    const acts = {
      undo: () => this.step(-1), redo: () => this.step(1), arrange: () => this.arrange(), copy: () => this.copyByButton(), duplicate: () => this.duplicate(), delete: () => this.remove(),
      fit: () => this.fit(), in: () => this.view.zoom(1.25), out: () => this.view.zoom(0.8), scale: () => this.view.zoom(1 / this.view.scale),
      find: () => this.openSearch(), groups: () => this.offerGroups(), help: () => this.openSheet(), columns: () => this.togglePalette(), fold: () => this.fold(),
    };
    if (["fit", "in", "out", "scale"].includes(name)) this.untouched = false;
    (acts[name] ?? (() => this.begin(name)))();
  }

  fit() {
    this.view.fit();
    if (LEAST_TEXT / this.view.scale > ROOM.kernel.first) this.say("Too much is open to name every kernel: click a name to go there, or close groups by Groups.");
  }

  begin(mode) {
    this.setMode(mode);
    if (HINT[mode]) this.say(HINT[mode]);
  }

  setMode(mode) {
    this.mode = mode;
    for (const name of ["select", ...KINDS]) this.press(name, name === mode);
    this.stage.style.cursor = mode === "select" ? "" : "crosshair";
    this.offerLoose();
  }

  press(name, on) { this.root.querySelector(`button[data-act=${name}]`)?.setAttribute("aria-pressed", String(on)); }

  fold() { // the panel stands beside the canvas in the page; a rule of the page's style hides it
    const { dataset } = document.documentElement;
    const folded = !dataset.spnFolded;
    if (folded) dataset.spnFolded = "yes"; else delete dataset.spnFolded;
    this.press("fold", folded);
  }

  // What is shown

  get shownDrawing() { return this.drifting ?? this.drawing; }

  show() {
    // From the drawing and the looks: the items and lines to paint. Closed groups stand in the place of their members.
    const drawing = this.shownDrawing;
    this.known = byId(drawing.nodes);
    Object.assign(this.groups, this.looks.groups ?? {});
    const hidden = new Map();
    const closed = (drawing.closed ?? []).filter((id) => this.groups[id]).sort((a, b) => this.groups[a].members.length - this.groups[b].members.length);
    for (const id of closed) { // the outer ones come last
      const members = this.groups[id].members.map((member) => this.known.get(member)).filter(Boolean);
      for (const n of members) if (n.x === members[0].x && n.y === members[0].y) hidden.set(n.id, id); // not what was added since
    }
    this.items = new Map();
    for (const n of drawing.nodes) if (!hidden.has(n.id)) this.items.set(n.id, this.item(n));
    for (const id of new Set(hidden.values())) this.items.set(id, this.groupItem(id));
    const open = new Map(Object.entries(this.looks.groups ?? {}).filter(([id, g]) => !closed.includes(id) && this.items.has(g.parent)).map(([id, g]) => [g.parent, id]));
    for (const [id, group] of open) this.items.get(id).open = group;
    const moved = [...this.items.values()].filter((item) => !item.settled).map((item) => ({ id: item.id, ...sides(item) }));
    const seen = new Set();
    this.lines = [];
    for (const edge of drawing.edges) {
      const [from, to] = edge.map((end) => hidden.get(end) ?? end);
      const name = edgeName([from, to]);
      if (from === to || seen.has(name) || !this.items.has(from) || !this.items.has(to)) continue;
      seen.add(name);
      this.lines.push(this.lineOf(name, this.items.get(from), this.items.get(to), moved));
    }
    this.findLoose();
    this.frame.classList.toggle("empty", !drawing.nodes.length);
    Object.assign(this.frame.dataset, { nodes: drawing.nodes.length, edges: drawing.edges.length });
    this.enable("undo", this.history.canUndo);
    this.enable("redo", this.history.canRedo);
    this.enable("delete", this.chosen.size || this.chosenEdges.size);
    this.enable("copy", this.chosen.size);
    this.enable("duplicate", this.chosen.size);
    this.paint();
  }

  enable(name, on) {
    const button = this.root.querySelector(`button[data-act=${name}]`);
    if (button) button.disabled = !on;
  }

  look(id) { return this.looks.nodes?.[id] ?? this.groups[id] ?? {}; }

  usual(kind) { // as a node of that kind looks
    const { colors } = this;
    return { ...USUAL[kind], fill: colors[kind], border: colors[`${kind}_border`], ink: colors[`${kind}_ink`], stroke: 1.5 };
  }

  item(n) {
    const given = this.looks.nodes?.[n.id];
    const look = given?.kind === n.kind ? given : this.provisional(n);
    return outlinedItem({ id: n.id, kind: n.kind, x: n.x, y: n.y, w: look.w, h: look.h, look, settled: given?.x === n.x && given?.y === n.y });
  }

  groupItem(id) {
    const group = this.groups[id];
    const members = group.members.filter((m) => this.known.has(m));
    const { x, y } = this.known.get(members[0]);
    return outlinedItem({ id, kind: "group", x, y, w: group.w, h: group.h, look: group, members, settled: group.x === x && group.y === y });
  }

  provisional(n) { // until Python has seen it
    const words = n.kind === "kernel" ? shortText(provisionalText(n), this.drawing.nodes.filter(({ kind }) => kind === "kernel").length) : n.label ?? "";
    const look = { ...this.usual(n.kind), ...(n.kind === "kernel" ? { w: boxWidth(words) } : {}) };
    const place = n.kind === "kernel" ? { x: 8 - look.w / 2, y: 0, anchor: "start", ink: look.ink } : { x: 0, y: -look.h / 2 - 10, anchor: "middle", ink: this.colors.text };
    return { ...look, text: words, texts: words ? [{ text: words, size: 13, style: "", halo: n.kind !== "kernel", ...place }] : [] };
  }

  namedParts() { // the groups that are open, the smallest first, then those that are closed; by what tells them apart
    const shown = (ids) => ids.map((id) => this.items.get(id)).filter(Boolean);
    const open = Object.values(this.looks.groups ?? {}).filter((group) => !group.closed).sort((a, b) => a.members.length - b.members.length);
    const parts = open.map((look) => ({ look, items: shown(look.members) }));
    const shut = [...this.items.values()].filter((item) => item.kind === "group").map((item) => ({ look: item.look, items: [item] }));
    const found = [...parts, ...shut].filter(({ items }) => items.length), often = new Set();
    const seen = new Set();
    for (const { look } of found) { if (seen.has(look.text)) often.add(look.text); seen.add(look.text); }
    return found.map(({ look, items }) => ({ items, text: [often.has(look.text) && look.sub || look.text, look.value].filter(Boolean).join(", ") }));
  }

  lineOf(name, from, to, moved) { // as the scene has it while its ends stand where the scene has them, and nothing new is in its way
    const look = this.looks.edges?.[name] ?? {};
    const around = () => outlinedLine(pathOf(routed(from, to, this.items.values())));
    const drawn = look.d && from.settled && to.settled ? outlinedLine(look.d) : around();
    const others = moved.filter((box) => box.id !== from.id && box.id !== to.id && meets(box, drawn.outline));
    return { name, from, to, look, ...(look.d && others.length && passed(drawn.points, others).size ? around() : drawn) };
  }

  drift(ids, dx, dy) { // while a drag lasts
    this.drifting = changed(this.drawing, ids, (n) => ({ x: n.x + dx, y: n.y + dy }));
    this.show();
  }

  paint(moving = false) {
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = null;
    if (this.gone || !this.view.width) return;
    const { textPx } = this.painter.paint(moving);
    this.minimap.paint();
    this.offerLoose();
    this.frame.dataset.textPx = textPx;
    const percent = `${Math.round(100 * this.view.scale)} %`;
    const shown = this.root.querySelector("button[data-act=scale]");
    if (shown && shown.textContent !== percent) shown.textContent = percent;
  }

  paintSoon(moving = false) {
    if (moving) {
      this.untouched = false;
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.paint(), 120);
    }
    this.frameAsked ??= requestAnimationFrame(() => this.paint(moving));
  }

  readTheme() {
    const style = getComputedStyle(this.root.host ?? this.frame);
    const value = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
    const dark = luminance(value("--st-background-color", "#ffffff")) < 0.4;
    const colors = this.looks?.colors ?? {};
    this.colors = {
      ...colors, text: value("--st-text-color", "#222"), background: value("--st-background-color", "#fff"),
      primary: value("--st-primary-color", "#1f6feb"), onPrimary: dark ? "#0e1117" : "#ffffff", face: value("--st-font", "sans-serif"),
    };
    this.frame.classList.toggle("dark", dark);
    const theme = dark ? "dark" : "light"; // Python makes the scene for it
    if (colors.background && dark !== luminance(colors.background) < 0.4 && this.toldTheme !== theme) this.api.setStateValue("theme", theme);
    this.toldTheme = theme;
  }

  // What is where

  itemAt({ x, y }) {
    const room = 3 / this.view.scale;
    return [...this.items.values()].reverse().find((item) => Math.abs(x - item.x) <= item.w / 2 + room && Math.abs(y - item.y) <= item.h / 2 + room) ?? null;
  }

  badgeAt({ x, y }) { // the group that the sign under this place opens or closes
    const near = (bx, by) => Math.abs(x - bx) <= BADGE && Math.abs(y - by) <= BADGE;
    for (const item of this.items.values()) {
      if (item.kind === "group" && near(item.x + item.w / 2 - 16, item.y)) return item.id;
      if (item.open && near(item.x - item.w / 2 - CLOSER, item.y)) return item.open;
    }
    return null;
  }

  edgeAt({ x, y }) {
    const room = 5 / this.view.scale;
    return this.lines.find((line) => {
      const { left, right, top, bottom } = line.outline;
      return x >= left - room && x <= right + room && y >= top - room && y <= bottom + room && this.painter.meets(line, { x, y });
    }) ?? null;
  }

  inView(id) { const item = this.items.get(id?.id ?? id); return Boolean(item && this.view.shows(sides(item))); }

  screenPosition(id) {
    const item = this.items.get(id) ?? [...this.items.values()].find((one) => one.members?.includes(id));
    const at = this.view.toScreen(item.x, item.y), stage = this.stage.getBoundingClientRect();
    return { x: stage.x + at.x, y: stage.y + at.y };
  }

  portOf(id) { const at = port(this.items.get(id), this.view.scale); return this.view.toScreen(at.x, at.y); }

  // What is chosen

  selected() { return this.drawing.nodes.map((n) => n.id).filter((id) => this.chosen.has(id)); }

  isChosen(item) { return item.members ? item.members.every((id) => this.chosen.has(id)) : this.chosen.has(item.id); }

  choose(ids) {
    this.chosen = new Set(ids);
    this.chosenEdges = new Set();
    this.chosenChanged();
  }

  chooseItem(item, adds) {
    const ids = item.members ?? [item.id];
    if (!adds) return this.choose(ids);
    const out = this.isChosen(item);
    for (const id of ids) if (out) this.chosen.delete(id); else this.chosen.add(id);
    return this.chosenChanged();
  }

  chooseEdge(edge, adds) {
    const group = [edge.to, edge.from].find((end) => end.kind === "group"); // its edges are not drawn, and not to be deleted
    if (group) return this.chooseItem(group, adds);
    if (!adds) { this.chosen = new Set(); this.chosenEdges = new Set(); }
    if (!this.chosenEdges.delete(edge.name)) this.chosenEdges.add(edge.name);
    return this.chosenChanged();
  }

  chosenChanged() {
    for (const name of ["copy", "duplicate"]) this.enable(name, this.chosen.size);
    this.enable("delete", this.chosen.size || this.chosenEdges.size);
    this.paint();
    this.tellSelection();
  }

  tellSelection() {
    const ids = this.selected();
    if (String(ids) === this.told) return;
    this.told = String(ids);
    this.api.setStateValue("selection", this.readonly ? ids : { ids, after: TAB.last }); // the last edit may tell of another one
  }

  // Words

  get onDisk() { // the last edit of this page that the server has written
    const told = globalThis.spnmklSaved;
    if (told?.epoch !== this.history?.epoch) return 0;
    const edit = told.page === TAB.page ? told.number : 0;
    return this.replaced && told.pushes >= this.replaced.revision ? Math.max(edit, this.replaced.taken) : edit;
  }

  tellSaved() {
    const number = Math.min(this.taken, this.onDisk), version = globalThis.spnmklSaved?.version; // as Projects counts them
    const saved = number >= TAB.last, failed = !saved && globalThis.spnmklSaved?.state === "failed";
    this.frame.dataset.saved = number;
    this.saved.textContent = saved ? (version ? `saved, version ${version}` : "saved") : failed ? "not saved" : "saving…";
    this.saved.classList.toggle("pending", !saved);
  }

  say(text) {
    this.frame.classList.remove("refused");
    Object.assign(this.status, { textContent: text, title: text });
  }

  refuse(reason) {
    this.say(reason);
    this.frame.classList.add("refused");
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.frame.classList.remove("refused"), CALM);
  }

  destroy() {
    this.gone = true;
    this.history.store();
    for (const timer of [this.retry, this.sizing, this.resting, this.tipping, this.offering]) clearTimeout(timer);
    cancelAnimationFrame(this.frameAsked);
    this.events.abort();
    this.resize.disconnect();
  }
}

Object.assign(Canvas.prototype, Talk, Placing, Editing, Keys, Panels, Loose);

function outlinedItem(item) { // with all that is written around it
  const { x, y, w, h, look } = item;
  const behind = item.kind === "group" ? 5 : 0;
  const box = { left: x - w / 2 - 2, right: x + w / 2 + 2 + behind, top: y - h / 2 - 2, bottom: y + h / 2 + 2 + behind };
  for (const t of look.texts ?? []) {
    const wide = 0.56 * t.size * t.text.length;
    const left = x + t.x - { start: 0, middle: wide / 2, end: wide }[t.anchor];
    Object.assign(box, { left: Math.min(box.left, left), right: item.kind === "group" ? box.right : Math.max(box.right, left + wide), top: Math.min(box.top, y + t.y - t.size / 2), bottom: Math.max(box.bottom, y + t.y + t.size / 2) });
  }
  return { ...item, outline: box };
}

function outlinedLine(d) {
  const places = d.match(/-?[\d.]+(?:e[-+]?\d+)?/g).map(Number);
  const [xs, ys] = [places.filter((_, k) => k % 2 === 0), places.filter((_, k) => k % 2)];
  return { path: new Path2D(d), points: xs.map((x, k) => [x, ys[k]]), outline: { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) } };
}

function luminance(color) {
  const parts = color.startsWith("#") ? color.slice(1).match(/../g)?.map((h) => parseInt(h, 16)) : color.match(/[\d.]+/g)?.map(Number);
  return parts ? (0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2]) / 255 : 1;
}

export default function (component) {
  const root = component.parentElement;
  if (!INSTANCES.has(root)) INSTANCES.set(root, new Canvas(root));
  const canvas = INSTANCES.get(root);
  canvas.api = component;
  canvas.update(component.data);
  return () => {
    canvas.destroy();
    INSTANCES.delete(root);
  };
}
