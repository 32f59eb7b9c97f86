// What lies over the drawing: menus, the name being typed, search, the list of columns, the sheet of shortcuts, tips.

const ROW = 26; // px, of the list of columns
const MOST_FOUND = 8;

const Panels = {
  over(made, at, room = { width: 200, height: 0 }) { // kept inside the stage
    const { clientWidth, clientHeight } = this.stage;
    this.stage.append(made);
    const { offsetWidth: w = room.width, offsetHeight: h = room.height } = made;
    Object.assign(made.style, { left: `${clamp(at.x, 4, Math.max(4, clientWidth - w - 4))}px`, top: `${clamp(at.y, 4, Math.max(4, clientHeight - h - 4))}px` });
    return made;
  },

  closeMenus() {
    for (const open of this.stage.querySelectorAll(".menu, .sheet, .found")) open.remove();
    this.endRename?.(true);
  },

  // Menus

  openList(at, entries, label) {
    this.closeMenus();
    this.hideTip();
    const list = element("div", { class: "menu", role: "menu", "aria-label": label });
    for (const entry of entries) {
      if (!entry) { list.append(element("hr")); continue; }
      const [words, act, keys = "", off = false] = entry;
      list.append(element("button", { role: "menuitem", disabled: off, onclick: () => { list.remove(); this.frame.focus({ preventScroll: true }); act(); } }, element("span", {}, words), element("kbd", {}, keys)));
    }
    const buttons = [...list.querySelectorAll("button:not([disabled])")];
    list.addEventListener("keydown", (event) => {
      const at = buttons.indexOf(this.root.activeElement);
      const key = event.key.toLowerCase();
      const by = { arrowdown: 1, arrowup: -1 }[key];
      if (by) buttons[(at + by + buttons.length) % buttons.length].focus();
      else if (key === "escape" || key === "tab") { list.remove(); this.frame.focus({ preventScroll: true }); } else if (key !== "enter" && key !== " ") {
        const found = buttons.find((b) => b.querySelector("kbd").textContent.toLowerCase() === key);
        if (!found) return;
        found.click();
      } else return;
      event.preventDefault();
    });
    this.over(list, at);
    buttons[0]?.focus({ preventScroll: true });
  },

  offerKinds(at, act, below = "", more = []) {
    const title = { sum: "Sum", product: "Product", kernel: "Kernel" };
    this.openList(at, [...KINDS.map((kind) => [`${title[kind]}${below}`, () => act(kind), PREFIX[kind].toUpperCase()]), ...more], "Add");
  },

  offerHere(at) { // on a free place: below the node that it most likely belongs to, or without one
    const parent = this.likelyParent(), spot = this.view.toWorld(at.x, at.y);
    const loose = (kind) => this.add(kind, spot);
    if (!parent) return this.offerKinds(at, loose);
    return this.offerKinds(at, (kind) => this.addBelow(kind, parent, { at: this.startingAt(spot, kind) }), ` below ${this.called(parent)}`, [null, ["Without a parent…", () => this.offerKinds(at, loose)]]);
  },

  startingAt({ x, y }, kind) { return { x: x + (kind === "kernel" ? this.usual(kind).w / 2 : 0), y }; },

  called({ id, kind, label }) { // a sum or product in a menu
    const name = label && label.length > 18 ? `${label.slice(0, 17)}…` : label;
    if (kind === "sum") return name ? `'${name}'` : this.mainRoot() === id ? "the top sum" : "the sum";
    return this.look(id).weight || (name ? `'${name}'` : "the product");
  },

  openMenu(at, item) {
    if (this.readonly) return item?.kind === "group" ? this.toggle(item.id) : undefined;
    const spot = this.view.toWorld(at.x, at.y), node = item && this.node(item.id);
    const { size } = this.chosen;
    const leaf = !node || node.kind === "kernel";
    const child = (kind) => () => this.addBelow(kind, node);
    const group = item && Object.entries(this.groups).find(([id, g]) => id === item.id || g.parent === item.id);
    const parent = item ? null : this.likelyParent();
    const kind = node?.kind ?? (item ? "kernel" : null);
    return this.openList(at, [
      ...(node || group && this.nameOfGroup(item).length ? [["Rename", () => this.beginRename(item.id), "F2"]] : []),
      ...(node && this.loose.has(node.id) ? [[`Connect to ${this.called(this.node(this.loose.get(node.id)))}`, () => this.connect(this.loose.get(node.id), node.id)]] : []),
      ...(group ? [[this.drawing.closed.includes(group[0]) ? "Open the group" : "Close the group", () => this.toggle(group[0]), "O"]] : []),
      ...(!item ? [[parent ? `Add below ${this.called(parent)}…` : "Add…", () => this.offerHere(at)]]
        : leaf ? [] : [["Add a sum", child("sum"), "S"], ["Add a product", child("product"), "P"], ["Add a kernel", child("kernel"), "K"]]),
      null,
      ["Copy", () => this.copyByButton(), "Ctrl+C", !size],
      ["Cut", () => { this.copyByButton(); this.remove("Cut"); }, "Ctrl+X", !size],
      ["Paste", () => this.pasteByButton(item ? null : spot), "Ctrl+V"],
      ["Duplicate", () => this.duplicate(), "Ctrl+D", !size],
      ["Delete", () => this.remove(), "Del", !size && !this.chosenEdges.size],
      null,
      ...(kind ? [[`Select all ${kind}s`, () => this.choose(this.drawing.nodes.filter((n) => n.kind === kind).map((n) => n.id))]]
        : KINDS.map((k) => [`Select all ${k}s`, () => this.choose(this.drawing.nodes.filter((n) => n.kind === k).map((n) => n.id))])),
      ...(size > 1 ? [["Align left", () => this.align("left")], ["Align in a row", () => this.align("row")]] : []),
      ...(item ? [] : [["Arrange", () => this.arrange(), "L"], ["Fit to view", () => this.view.fit(), "F"]]),
    ], item ? `Menu of ${item.look.title || item.look.text || item.kind}` : "Menu of the canvas");
  },

  offerGroups() {
    const button = this.root.querySelector("button[data-act=groups]").getBoundingClientRect(), stage = this.stage.getBoundingClientRect();
    const none = !Object.keys(this.groups).length, { length } = this.drawing.closed;
    this.openList({ x: button.x - stage.x, y: 4 }, [
      ["Open all groups", () => this.openAll(), "Shift+O", none || !length],
      ["Close all groups", () => this.closeAll(), length ? "" : "Shift+O", none],
      ["Close what does not fit", () => this.closeToFit(), "", none],
    ], "Groups");
    if (none) this.say("There are no groups: a sum with three kernels below it, or six like ones, can be closed into one.");
  },

  menuByKey() {
    const item = [...this.items.values()].find((one) => this.isChosen(one));
    const at = item ? this.view.toScreen(item.x, item.y + item.h / 2) : { x: this.view.width / 2, y: this.view.height / 2 };
    this.openMenu(at, item);
  },

  copyByButton() { // the page may not be allowed to write the clipboard; the tab remembers what was copied anyway
    const text = this.copy();
    if (text) navigator.clipboard?.writeText(text).catch(() => {});
  },

  async pasteByButton(spot) {
    const text = this.clip ?? await navigator.clipboard?.readText().catch(() => "");
    this.paste(text, spot);
  },

  // The name of a node

  renameChosen() {
    const [id, ...more] = this.selected();
    const group = [...this.items.values()].find((item) => item.kind === "group" && this.isChosen(item) && item.members.length === more.length + 1);
    if (group) return this.beginRename(group.id);
    if (!id || more.length) this.refuse(id ? "Several nodes are selected: the panel names them all." : "Select the node to rename first.");
    else this.beginRename(id);
    return undefined;
  },

  beginRename(id) {
    const item = this.items.get(id), named = item?.kind === "group" ? this.nameOfGroup(item) : [id];
    if (!item || this.readonly) return undefined;
    if (!named.length) return this.refuse("These kernels have no sum of their own to be named: the panel names them all, with a label prefix.");
    this.closeMenus();
    this.chooseItem(item, false);
    const label = this.node(named[0]).label ?? "";
    const at = this.view.toScreen(item.x, item.y), width = clamp(item.w * this.view.scale + 20, 150, 280);
    const field = element("input", { class: "rename", "aria-label": item.kind === "group" ? "Name of the group" : "Name of the node", value: label, maxlength: 200, placeholder: "name", style: `width: ${width}px` });
    const end = (kept) => {
      if (this.endRename !== end) return;
      this.endRename = null;
      const given = field.value;
      field.remove();
      if (kept && given.trim() !== label) { if (item.kind === "group") this.renameGroup(item, given); else this.rename(id, given); }
      this.frame.focus({ preventScroll: true });
    };
    this.endRename = end;
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); end(event.key === "Enter"); }
    });
    field.addEventListener("blur", () => end(true));
    this.over(field, { x: at.x - width / 2, y: at.y - 15 });
    field.focus();
    field.select();
    return undefined;
  },

  // Search

  matches(words) {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const said = (n) => { const look = this.look(n.id); return [n.id, n.kind, n.label, n.kernel, n.features?.slice(0, 9), look.text, look.weight, look.sub].join(" ").toLowerCase(); };
    const rank = (n) => KINDS.indexOf(n.kind); // kernels first: they are what most look for
    return this.drawing.nodes.filter((n) => parts.every((part) => said(n).includes(part))).sort((a, b) => rank(b) - rank(a));
  },

  openSearch() {
    this.closeMenus();
    const field = element("input", { type: "search", "aria-label": "Find a node by a part of its name", placeholder: "Find a node" });
    const list = element("div", { role: "listbox", "aria-label": "Nodes found" });
    const box = element("div", { class: "found", role: "search" }, field, list);
    let found = [], at = 0;
    const go = (n) => { box.remove(); this.frame.focus({ preventScroll: true }); this.goTo(n.id); };
    const tell = () => {
      found = field.value.trim() ? this.matches(field.value) : [];
      at = clamp(at, 0, Math.max(0, found.length - 1));
      const first = clamp(at - MOST_FOUND + 1, 0, found.length);
      list.replaceChildren(...found.slice(first, first + MOST_FOUND).map((n, k) => {
        const look = this.look(n.id), name = look.text || look.weight || (n.kind === "kernel" ? provisionalText(n) : n.label ?? n.id);
        return element("div", { role: "option", "aria-selected": String(first + k === at), onpointerdown: (event) => { event.preventDefault(); go(n); } }, element("span", {}, name), element("small", {}, n.kind));
      }), element("small", { class: "many" }, field.value.trim() ? (found.length ? count(found.length, "node") : "No node is called so.") : "Type a part of a name; Enter goes there."));
    };
    field.addEventListener("input", () => { at = 0; tell(); });
    field.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by) { at += by; tell(); } else if (event.key === "Enter") { if (found[at]) go(found[at]); } else if (event.key === "Escape") { box.remove(); this.frame.focus({ preventScroll: true }); } else return;
      event.preventDefault();
    });
    this.over(box, { x: this.stage.clientWidth / 2 - 150, y: 10 });
    tell();
    field.focus({ preventScroll: true });
  },

  // Columns of the data

  togglePalette() {
    const open = this.stage.querySelector(".palette");
    this.press("columns", !open);
    if (open) return void open.remove();
    const field = element("input", { type: "search", "aria-label": "Find views and columns", placeholder: "Find views and columns" });
    const tall = element("div", { class: "tall" }), rows = element("div", { class: "rows", role: "list", tabindex: "-1" }, tall);
    const palette = element("div", { class: "palette", role: "region", "aria-label": "Views and columns of the data" }, field, rows, element("small", {}, "Drag one onto the canvas, a sum, a product or a kernel; Enter adds it to the selected node."));
    let shown = [];
    const draw = () => {
      const first = Math.floor(rows.scrollTop / ROW), many = Math.ceil((rows.clientHeight || 400) / ROW) + 2;
      tall.style.height = `${shown.length * ROW}px`;
      tall.replaceChildren(...shown.slice(first, first + many).map((entry, k) => this.columnRow(entry, (first + k) * ROW)));
    };
    const find = () => {
      const words = field.value.toLowerCase().trim();
      shown = this.columnEntries().filter(({ name }) => name.toLowerCase().includes(words));
      draw();
    };
    field.addEventListener("input", () => { rows.scrollTop = 0; find(); });
    rows.addEventListener("scroll", draw);
    palette.addEventListener("keydown", (event) => { if (event.key === "Escape") { this.togglePalette(); this.frame.focus({ preventScroll: true }); } });
    this.stage.append(palette);
    this.refreshPalette = find;
    find();
    field.focus({ preventScroll: true });
  },

  columnEntries() {
    const { columns = [], views = {}, text = [] } = globalThis.spnmklColumns ?? {};
    if (this.entriesOf !== columns) {
      const words = new Set(text);
      this.entriesOf = columns;
      this.entries = [
        ...Object.entries(views).map(([name, at]) => ({ name, columns: at.map((k) => columns[k]), view: true, text: at.every((k) => words.has(k)) })),
        ...columns.map((name, k) => ({ name, columns: [name], text: words.has(k) })),
      ];
    }
    return this.entries;
  },

  columnRow(entry, top) {
    const { name, columns, view } = entry;
    const row = element("button", { class: view ? "row view" : "row", role: "listitem", style: `top: ${top}px`, title: view ? `view ${name}, ${count(columns.length, "column")}` : name }, element("span", {}, name), element("small", {}, view ? columns.length : ""));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.dropByKey(entry); }
    });
    row.addEventListener("pointerdown", (event) => this.carry(event, entry, row));
    return row;
  },

  dropByKey(entry) {
    const item = this.items.get(this.selected()[0]);
    this.dropColumns(entry, item ? { x: item.x, y: item.y } : null);
  },

  carry(event, entry, row) {
    event.preventDefault();
    row.setPointerCapture(event.pointerId);
    const ghost = element("div", { class: "ghost" }, entry.name);
    const drag = new AbortController();
    const on = (name, act) => row.addEventListener(name, act, { signal: drag.signal });
    const spot = (e) => { const at = this.hand.at(e); return { at, inside: at.x > 0 && at.y > 0 && at.x < this.view.width && at.y < this.view.height && !this.palettes(at) }; };
    on("pointermove", (e) => {
      const { at, inside } = spot(e);
      this.stage.append(ghost);
      Object.assign(ghost.style, { left: `${at.x + 12}px`, top: `${at.y + 8}px` });
      const item = inside ? this.itemAt(this.hand.world(at)) : null;
      this.hand.target = item?.id ?? null;
      this.paintSoon();
    });
    const end = (e, broken) => {
      drag.abort();
      ghost.remove();
      this.hand.target = null;
      const { at, inside } = spot(e);
      if (inside && !broken) { this.dropColumns(entry, this.hand.world(at)); this.frame.focus({ preventScroll: true }); } else row.focus();
      this.paintSoon();
    };
    on("pointerup", (e) => end(e, false));
    on("pointercancel", (e) => end(e, true));
  },

  palettes(at) { // whether a place lies under the list
    const box = this.stage.querySelector(".palette");
    return box && at.x < box.offsetLeft + box.offsetWidth && at.y < box.offsetTop + box.offsetHeight && at.y > box.offsetTop;
  },

  // The rest

  openSheet() {
    if (this.stage.querySelector(".sheet")) return void this.closeMenus();
    this.closeMenus();
    const close = element("button", { onclick: () => { sheet.remove(); this.frame.focus({ preventScroll: true }); } }, "Close");
    const list = element("dl", {}, ...SHORTCUTS.flatMap(([keys, words]) => [element("dt", {}, keys), element("dd", {}, words)]));
    const sheet = element("div", { class: "sheet", role: "dialog", "aria-label": "Shortcuts" }, element("b", {}, "Shortcuts"), list, close);
    sheet.addEventListener("keydown", (event) => { if (event.key === "Escape" || event.key === "?") close.click(); });
    this.stage.append(sheet);
    close.focus({ preventScroll: true });
  },

  offer(lost) { // a drawing that the server no longer has
    this.stage.querySelector(".offer")?.remove();
    const time = new Date(lost.time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const answer = (act) => () => { bar.remove(); this.frame.focus({ preventScroll: true }); act?.(); };
    const bar = element("div", { class: "offer", role: "alertdialog", "aria-label": "A drawing that the server lost" },
      `Bring back the drawing of ${time}, ${count(lost.present.nodes.length, "node")}?`,
      element("button", { class: "main", onclick: answer(() => this.bringBack(lost)) }, "Bring it back"), element("button", { onclick: answer(() => this.history.store()) }, "No"));
    this.stage.append(bar);
  },

  tipSoon(words, at, item) { // above a node: its port is below it
    this.hideTip();
    this.tipping = setTimeout(() => {
      const tip = this.over(element("div", { class: "tip", role: "tooltip" }, words), { x: at.x + 14, y: at.y + 16 });
      if (!item || !this.items.has(item.id)) return;
      const { left, top, bottom } = sides(item), above = this.view.toScreen(left, top), below = this.view.toScreen(left, bottom);
      const y = above.y - tip.offsetHeight - 8;
      Object.assign(tip.style, { left: `${clamp(above.x, 4, Math.max(4, this.view.width - tip.offsetWidth - 4))}px`, top: `${y >= 4 ? y : below.y + 3 * PORT}px` });
    }, 400);
  },

  hideTip() {
    clearTimeout(this.tipping);
    this.stage.querySelector(".tip")?.remove();
  },
};
