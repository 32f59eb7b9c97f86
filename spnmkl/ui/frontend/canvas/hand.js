// Mouse, pen and fingers.

const CLICK = 4; // px within which a press is no drag
const LONG = 550; // ms after which a resting finger asks for the menu

class Hand {
  constructor(canvas) {
    Object.assign(this, { canvas, fingers: new Map(), hovered: null, hoveredEdge: null, pulled: null, target: null, over: null, doing: null });
    const { stage, events } = canvas;
    const on = (name, act, options = {}) => stage.addEventListener(name, (event) => { if (this.mine(event)) act(event); }, { signal: events.signal, ...options });
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.moveOver(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.up(event, true));
    canvas.paper.addEventListener("pointerleave", () => { if (!this.fingers.size) this.leave(); }, { signal: events.signal });
    on("dblclick", (event) => this.double(event));
    on("contextmenu", (event) => { event.preventDefault(); this.menu(this.at(event)); });
    on("wheel", (event) => { event.preventDefault(); canvas.view.zoom(Math.exp(-clamp(event.deltaY, -120, 120) / 500), this.at(event)); }, { passive: false });
  }

  mine(event) { return event.target === this.canvas.paper || this.fingers.has(event.pointerId); }

  at(event) {
    const box = this.canvas.stage.getBoundingClientRect();
    return { x: event.clientX - box.x, y: event.clientY - box.y };
  }

  world(at) { return this.canvas.view.toWorld(at.x, at.y); }

  ported() { // the node whose port is shown
    const { canvas } = this;
    if (canvas.readonly || this.pulled) return null;
    const id = this.hovered ?? (canvas.chosen.size === 1 ? [...canvas.chosen][0] : null);
    const item = id && canvas.items.get(id);
    return item && (item.kind === "sum" || item.kind === "product") ? item : null;
  }

  onPort(at) {
    const item = this.ported();
    if (!item) return null;
    const place = port(item, this.canvas.view.scale), spot = this.world(at);
    return Math.hypot(place.x - spot.x, place.y - spot.y) * this.canvas.view.scale <= PORT + 4 ? item : null;
  }

  down(event) {
    const { canvas } = this;
    const at = this.at(event);
    canvas.closeMenus();
    canvas.frame.focus({ preventScroll: true });
    canvas.hideTip();
    if (event.button > 1) return;
    canvas.paper.setPointerCapture?.(event.pointerId);
    this.fingers.set(event.pointerId, at);
    if (this.fingers.size === 2) return this.beginPinch();
    if (this.fingers.size > 2) return undefined;
    if (event.pointerType === "touch") this.hover(at);
    this.doing = this.begin(event, at);
    this.long = event.pointerType === "touch" ? setTimeout(() => { this.doing = null; this.menu(at); }, LONG) : null;
    return undefined;
  }

  begin(event, at) {
    const { canvas } = this;
    const base = { start: at, last: at, adds: event.shiftKey || event.ctrlKey || event.metaKey };
    if (event.button === 1) return { ...base, kind: "pan" };
    const named = canvas.painter.nameAt(at);
    if (named) return { ...base, kind: "name", named };
    const from = this.onPort(at);
    if (from) return { ...base, kind: "pull", id: from.id };
    const spot = this.world(at), badge = canvas.badgeAt(spot);
    if (badge) return { ...base, kind: "badge", id: badge };
    const item = canvas.itemAt(spot);
    if (KINDS.includes(canvas.mode)) return { ...base, kind: "place", item, again: event.shiftKey };
    if (item) return { ...base, kind: "item", item };
    const edge = canvas.edgeAt(spot);
    if (edge) return { ...base, kind: "edge", edge };
    return { ...base, kind: event.shiftKey && !canvas.readonly ? "area" : "pan" };
  }

  moveOver(event) {
    const at = this.at(event);
    this.over = at;
    if (!this.fingers.has(event.pointerId)) return this.hover(at);
    this.fingers.set(event.pointerId, at);
    if (this.pinch) return this.pinched();
    const { doing } = this;
    if (!doing) return undefined;
    const far = Math.hypot(at.x - doing.start.x, at.y - doing.start.y) > CLICK;
    if (!doing.dragging && !far) return undefined;
    if (!doing.dragging) { doing.dragging = true; clearTimeout(this.long); this.beginDrag(doing); }
    this.drag(doing, at);
    doing.last = at;
    return undefined;
  }

  beginDrag(doing) {
    const { canvas } = this;
    if (doing.kind === "item" && !canvas.readonly) {
      if (!canvas.isChosen(doing.item)) canvas.chooseItem(doing.item, doing.adds);
      doing.ids = canvas.selected();
    }
    if (doing.kind === "area") doing.box = canvas.stage.appendChild(element("div", { class: "area" }));
    if (doing.kind === "pan") canvas.stage.classList.add("panning");
  }

  drag(doing, at) {
    const { canvas } = this;
    if (["pan", "edge", "name"].includes(doing.kind) || doing.kind === "place" || doing.kind === "item" && canvas.readonly) canvas.view.moved(at.x - doing.last.x, at.y - doing.last.y);
    else if (doing.kind === "item") canvas.drift(doing.ids, (at.x - doing.start.x) / canvas.view.scale, (at.y - doing.start.y) / canvas.view.scale);
    else if (doing.kind === "area") {
      const [left, top] = [Math.min(at.x, doing.start.x), Math.min(at.y, doing.start.y)];
      Object.assign(doing.box.style, { left: `${left}px`, top: `${top}px`, width: `${Math.abs(at.x - doing.start.x)}px`, height: `${Math.abs(at.y - doing.start.y)}px` });
    } else if (doing.kind === "pull") {
      const spot = this.world(at), item = canvas.itemAt(spot);
      this.pulled = { from: doing.id, to: spot };
      this.target = item && item.id !== doing.id && item.kind !== "group" ? item.id : null;
      canvas.paintSoon();
    }
  }

  up(event, broken = false) {
    if (!this.fingers.delete(event.pointerId)) return;
    clearTimeout(this.long);
    this.canvas.stage.classList.remove("panning");
    if (this.pinch) { this.pinch = null; this.doing = null; return; }
    const { doing } = this;
    this.doing = null;
    if (!doing) return;
    doing.box?.remove();
    const at = this.at(event);
    if (broken) { this.canvas.drifting = null; this.canvas.show(); this.pulled = null; this.target = null; } else if (doing.dragging) this.dropped(doing, at);
    else this.clicked(doing, at);
    this.canvas.paintSoon();
  }

  clicked(doing, at) {
    const { canvas } = this;
    const spot = this.world(at);
    if (doing.kind === "pull") canvas.offerKinds(at, (kind) => canvas.addBelow(kind, canvas.node(doing.id)));
    else if (doing.kind === "badge") canvas.toggle(doing.id);
    else if (doing.kind === "name") { canvas.view.fit(canvas.view.outline(doing.named.items)); canvas.say(`${doing.named.text}.`); }
    else if (doing.kind === "place") this.place(doing.item, spot, doing.again);
    else if (doing.kind === "item") canvas.chooseItem(doing.item, doing.adds);
    else if (doing.kind === "edge") canvas.chooseEdge(doing.edge, doing.adds);
    else if (!doing.adds) canvas.choose([]);
  }

  place(item, spot, again) {
    const { canvas } = this;
    const { mode } = canvas;
    if (!again) canvas.setMode("select");
    if (item?.kind === "group") canvas.refuse("Open the group first.");
    else if (item) canvas.addBelow(mode, canvas.node(item.id));
    else canvas.add(mode, spot);
  }

  dropped(doing, at) {
    const { canvas } = this;
    if (doing.kind === "item" && !canvas.readonly) {
      canvas.drifting = null;
      canvas.move(doing.ids, (at.x - doing.start.x) / canvas.view.scale, (at.y - doing.start.y) / canvas.view.scale);
    } else if (doing.kind === "area") {
      const [a, b] = [this.world(doing.start), this.world(at)];
      const within = (value, one, other) => value >= Math.min(one, other) && value <= Math.max(one, other);
      const inside = [...canvas.items.values()].filter((item) => within(item.x, a.x, b.x) && within(item.y, a.y, b.y));
      canvas.choose(inside.flatMap((item) => item.members ?? [item.id]));
      canvas.say(`Selected ${count(canvas.chosen.size, "node")}.`);
    } else if (doing.kind === "pull") {
      const { target } = this;
      const spot = this.world(at);
      [this.pulled, this.target] = [null, null];
      if (target) canvas.connect(doing.id, target);
      else canvas.offerKinds(at, (kind) => canvas.addBelow(kind, canvas.node(doing.id), { at: canvas.startingAt(spot, kind) }));
    }
  }

  double(event) {
    const at = this.at(event);
    const { canvas } = this;
    const item = canvas.itemAt(this.world(at));
    if (item?.kind === "group") canvas.toggle(item.id);
    else if (item) canvas.beginRename(item.id);
    else if (!canvas.readonly && !this.onPort(at)) canvas.offerHere(at);
  }

  menu(at) {
    const { canvas } = this;
    const item = canvas.itemAt(this.world(at));
    if (item && !canvas.isChosen(item)) canvas.chooseItem(item, false);
    canvas.openMenu(at, item);
  }

  hover(at) {
    const { canvas } = this;
    const spot = this.world(at);
    const named = canvas.painter.nameAt(at);
    const item = named ? null : canvas.itemAt(spot);
    const port = this.onPort(at);
    const edge = item || port || named ? null : canvas.edgeAt(spot);
    const hovered = item?.id ?? port?.id ?? null;
    canvas.stage.style.cursor = KINDS.includes(canvas.mode) ? "crosshair" : port || named || canvas.badgeAt(spot) ? "pointer" : item ? (canvas.readonly ? "pointer" : "move") : "";
    const title = item ? item.look.title : edge ? edge.look.title : "";
    if (hovered !== this.hovered || (edge?.name ?? null) !== this.hoveredEdge) {
      [this.hovered, this.hoveredEdge] = [hovered, edge?.name ?? null];
      canvas.hideTip();
      if (title && !port) canvas.tipSoon(title, at, item);
      canvas.paintSoon();
    }
  }

  leave() {
    this.over = null;
    if (this.hovered || this.hoveredEdge) { [this.hovered, this.hoveredEdge] = [null, null]; this.canvas.paintSoon(); }
    this.canvas.hideTip();
  }

  beginPinch() {
    const { canvas } = this;
    clearTimeout(this.long);
    if (this.doing?.dragging && this.doing.kind === "item") { canvas.drifting = null; canvas.show(); }
    this.doing?.box?.remove();
    [this.doing, this.pulled, this.target] = [null, null, null];
    this.pinch = this.spread();
  }

  spread() {
    const [a, b] = [...this.fingers.values()];
    return { far: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  }

  pinched() {
    if (this.fingers.size !== 2) return;
    const before = this.pinch, now = this.spread();
    this.canvas.view.moved(now.x - before.x, now.y - before.y);
    this.canvas.view.zoom(now.far / Math.max(1, before.far), now);
    this.pinch = now;
  }
}
