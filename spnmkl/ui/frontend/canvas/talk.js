// The talk with Python.
//
// This tab owns the viewport, the selection and the history; Python owns names, checks and layout. Whatever changes is
// shown at once and sent whole, with a running number, so that a message that Streamlit drops costs nothing; what is
// chosen goes with it, because Python would draw the page anew for a second message. Python answers with the number it
// has taken. What Python itself makes (a template, a change in the panel, a layout) comes as a numbered push, which is
// entered into the history; what was drawn meanwhile is kept.

const AGAIN = 2500; // ms after which a drawing that was not taken is sent again

const Talk = {
  // To Python

  send(what) {
    if (this.readonly) return this.api.setStateValue("wish", { ...this.wish, size: this.size });
    this.untouched = false;
    this.hideTip();
    if (what) this.say(what);
    TAB.last += 1;
    this.sent.set(TAB.last, this.drawing);
    this.tellSaved();
    const selection = this.selected();
    this.told = String(selection);
    this.message = { page: TAB.page, sequence: TAB.last, revision: this.revision, size: this.size, selection, ...this.drawing, ...(this.wish ? { wish: this.wish } : {}) };
    this.api.setStateValue("drawing", this.message);
    this.sendAgain();
    return undefined;
  },

  sendAgain() { // Streamlit may drop a message that arrives while it reruns
    clearTimeout(this.retry);
    this.retry = setTimeout(() => {
      if (this.gone || this.taken >= TAB.last || this.message?.revision !== this.revision) return;
      this.api.setStateValue("drawing", { ...this.message, again: Date.now() });
      this.sendAgain();
    }, AGAIN);
  },

  tellSize() { // what a drawing is fitted into: at once, and when it has changed and rests
    clearTimeout(this.sizing);
    this.sizing = setTimeout(() => {
      const matters = !this.readonly || Object.keys(this.looks.groups ?? {}).length;
      if (this.gone || !this.api || !this.view.width || !matters || String(this.size) === String(this.toldSize)) return;
      this.toldSize = this.size;
      this.api.setStateValue("size", this.size);
    }, this.toldSize ? 400 : 0);
  },

  // From Python

  update(data) {
    const first = this.revision === null;
    this.toldSize ??= data.size; // never told twice: an answer is no reason to tell again
    this.tellSize();
    if (data.readonly) return this.updateShown(data, first);
    const drawn = this.items;
    this.looks = data.looks;
    this.readTheme();
    const fresh = this.history.epoch !== data.epoch;
    if (fresh) this.meet(data);
    const [page, taken] = data.acknowledged.split("/");
    if (page === TAB.page) {
      this.taken = Math.max(this.taken, Number(taken));
      for (const number of this.sent.keys()) if (number < Math.min(this.taken, this.onDisk)) this.sent.delete(number); // a server that ends knows what is on disk
    }
    for (const push of data.pushes) if (push.number > this.history.revision) this.take(push, data);
    this.revision = `${data.epoch}.${this.history.revision}`;
    Object.assign(this.facts, { textContent: data.facts, title: data.facts });
    this.facts.classList.toggle("wrong", Boolean(data.wrong));
    this.tellSaved();
    this.show();
    if (!first && !fresh) this.keepLefts(drawn);
    if (first || fresh) { this.untouched = true; this.view.fit(); this.chosen = new Set(data.select.filter((id) => this.known.has(id))); this.paint(); }
    if (this.resend) { this.resend = false; this.send(""); }
    return undefined;
  },

  keepLefts(drawn) { // a box that got another width with its name has its left side, where its edge ends, where it was
    const moved = new Map();
    for (const item of this.items.values()) {
      const was = drawn.get(item.id);
      if (was?.kind === item.kind && was.x === item.x && was.y === item.y && Math.abs(was.w - item.w) > 1 && (item.kind === "kernel" || item.members))
        for (const id of item.members ?? [item.id]) moved.set(id, (item.w - was.w) / 2);
    }
    if (!moved.size || this.drifting) return;
    this.history.replace(changed(this.drawing, [...moved.keys()], (n) => ({ x: n.x + moved.get(n.id) })));
    this.show();
    this.resend = true;
  },

  meet(data) { // a drawing of the server that this canvas has not shown yet
    const before = this.history.epoch && this.history.edited ? this.history : null;
    before?.store();
    const { history, lost } = History.of(data.epoch, data.drawing);
    this.history = history;
    if (history.revision === null) { // new here, or after a reload
      history.revision = data.number;
      const differs = !alike(history.present, data.drawing);
      if (differs && history.storedRevision >= (data.since ?? data.number)) this.resend = true; // the reload came before Python had it
      else if (differs) history.add(data.drawing, "");
    }
    this.sent = TAB.sent.get(data.epoch) ?? new Map(); // a server that was started anew asks for what came after the last edit on disk
    TAB.sent.set(data.epoch, this.sent.set(0, history.present).set(TAB.last, history.present));
    const could = lost ?? (before && !alike(before.present, data.drawing) ? before : null);
    clearTimeout(this.offering); // a reloaded page shows the drawing of a new visitor first
    this.stage.querySelector(".offer")?.remove();
    if (could) this.offering = setTimeout(() => this.offer(could), 1200);
  },

  take(push) {
    const { history } = this;
    const [page, seen] = push.after.split("/");
    const number = page === TAB.page ? Number(seen) : 0;
    const base = this.sent.get(number);
    const mine = this.drawing;
    history.revision = push.number;
    if (push.refused) {
      this.after = null;
      history.forgetUntil(push.drawing);
      this.refuse(push.said);
    } else {
      const unseen = !push.whole && base && base !== mine; // drawn here since
      history.add(unseen ? merged(base, push.drawing, mine) : push.drawing, push.said);
      this.resend ||= Boolean(unseen) || Boolean(this.after && push.answers !== this.after.number); // a layout is still asked for
      this.sent.set(number, push.drawing); // the next push starts from this one
      if (push.said) this.say(push.said);
    }
    if (!this.resend) { this.taken = TAB.last; this.replaced = { revision: push.number, taken: TAB.last }; } // what was sent before is what Python has, or was replaced
    this.chosen = new Set((push.select.length || push.whole ? push.select : [...this.chosen]).filter((id) => history.present.nodes.some((n) => n.id === id)));
    this.tellSelection();
    this.show();
    this.settle(push);
  },

  settle(push) { // after the layout that was asked for, the view is where it was, or where one wanted to go
    const after = this.after?.number === push.answers ? this.after : null;
    if (push.answers) this.after = null;
    if (push.fit || after?.fit) this.view.fit();
    if (after?.anchor && this.items.has(after.anchor)) {
      const item = this.items.get(after.anchor), now = this.view.toScreen(item.x, item.y);
      this.view.moved(after.at.x - now.x, after.at.y - now.y);
    }
    if (after?.show) this.revealAll(after.show);
    if (after?.goTo && this.items.has(after.goTo)) { this.choose([after.goTo]); this.view.goTo(this.items.get(after.goTo).outline); }
    const more = after?.closed ? this.drawing.closed.filter((id) => !after.closed.includes(id)).length : 0;
    if (after?.said) this.say(`${after.said.replace(/\.$/, "")}${more && this.wish?.opened ? `, and closed ${count(more, "other")} so that all can be read` : ""}.`);
  },

  revealAll(ids) { // what was opened, where there is room for it
    const box = this.view.outline(ids.map((id) => this.items.get(id)).filter(Boolean));
    if (box && (box.bottom - box.top) * this.view.scale <= this.view.height && (box.right - box.left) * this.view.scale <= this.view.width) this.view.reveal(box);
  },

  bringBack(lost) {
    const { revision, epoch } = this.history;
    Object.assign(this.history, { steps: [...this.history.steps.slice(0, this.history.at + 1), ...lost.steps.slice(0, lost.at + 1)].slice(-MOST_STEPS - 1), revision, epoch });
    this.history.at = this.history.steps.length - 1;
    this.history.touch();
    this.chosen = new Set();
    this.show();
    this.view.fit();
    this.send("The drawing is back.");
  },

  updateShown(data, first) { // a trained drawing: to look at and to choose nodes on
    this.readonly = true;
    this.frame.classList.add("readonly");
    this.looks = data.looks;
    this.readTheme();
    if (data.revision !== this.revision) {
      this.revision = data.revision;
      this.history = new History("", data.drawing);
      this.chosen = new Set(data.select);
      if (data.message) this.say(data.message);
      this.show();
      if (first || !this.after) { this.untouched = true; this.view.fit(); } else this.settle({ answers: this.after.number });
    } else this.show();
    this.frame.dispatchEvent(new Event("updated")); // a replay may be showing an earlier iteration
  },
};
