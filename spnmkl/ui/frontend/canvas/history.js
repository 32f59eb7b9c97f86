// The drawings of this tab, one a step. It outlives the mounted canvas, and in sessionStorage a reload and a restart of
// the server. Equal records and edges are stored once, so that 200 steps of 200 nodes take some 100 kB.

const STORED = "spnmkl.history";
// Of this document, also when the canvas is mounted anew: its name, the numbers given so far, histories by epoch.
const TAB = globalThis.spnmklCanvas ??= { page: Math.random().toString(36).slice(2, 12), last: 0, asked: 0, kept: new Map(), sent: new Map() };

class History {
  constructor(epoch, drawing) {
    Object.assign(this, { epoch, steps: [{ drawing, what: "" }], at: 0, time: Date.now(), revision: null, edited: false });
  }

  get present() { return this.steps[this.at].drawing; }
  get canUndo() { return this.at > 0; }
  get canRedo() { return this.at < this.steps.length - 1; }

  add(drawing, what) {
    this.steps = [...this.steps.slice(0, this.at + 1), { drawing, what }].slice(-MOST_STEPS - 1);
    this.at = this.steps.length - 1;
    this.touch();
  }

  replace(drawing) { this.steps[this.at] = { ...this.steps[this.at], drawing }; }

  move(by) { // what was undone or done again
    const what = this.steps[by < 0 ? this.at : this.at + 1]?.what ?? "";
    this.at = clamp(this.at + by, 0, this.steps.length - 1);
    this.touch();
    return what;
  }

  forgetUntil(drawing) { // steps that Python refused are as if they had never been
    const at = this.steps.findLastIndex((step) => alike(step.drawing, drawing));
    if (at >= 0) { this.steps.length = at + 1; this.at = at; } else this.replace(drawing);
  }

  touch() {
    this.time = Date.now();
    this.edited = true;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.store(), 400);
  }

  store() {
    clearTimeout(this.later);
    if (!this.edited) return;
    const pool = new Map();
    const number = (item) => {
      const text = JSON.stringify(item);
      if (!pool.has(text)) pool.set(text, pool.size);
      return pool.get(text);
    };
    const node = (n) => number(n.features?.length > 1 ? { ...n, features: number(n.features) } : n); // long lists are shared
    const steps = this.steps.map(({ drawing, what }) => ({
      what, nodes: drawing.nodes.map(node), edges: drawing.edges.map(number), closed: drawing.closed,
    }));
    const { epoch, revision, at, time } = this;
    try { sessionStorage.setItem(STORED, JSON.stringify({ epoch, revision, at, time, steps, pool: [...pool.keys()] })); } catch { History.forgetStored(); } // full or forbidden: an older one must not come back in its place
  }

  static forgetStored() {
    try { sessionStorage.removeItem(STORED); } catch { /* forbidden */ }
  }

  static stored() {
    try {
      const { epoch, revision, at, time, steps, pool } = JSON.parse(sessionStorage.getItem(STORED));
      const items = pool.map((text) => JSON.parse(text));
      for (const item of items) if (typeof item.features === "number") item.features = items[item.features];
      const history = new History(epoch, null);
      history.steps = steps.map((s) => ({ what: s.what, drawing: { nodes: s.nodes.map((k) => items[k]), edges: s.edges.map((k) => items[k]), closed: s.closed } }));
      Object.assign(history, { at: clamp(at, 0, steps.length - 1), time, storedRevision: revision, edited: true });
      return history;
    } catch { return null; }
  }

  static of(epoch, drawing) { // the one of this server's drawing, and an older one that could be brought back
    const kept = TAB.kept.get(epoch) ?? null;
    const stored = kept ? null : History.stored();
    const mine = kept ?? (stored?.epoch === epoch ? stored : null);
    const history = mine ?? new History(epoch, drawing);
    TAB.kept.set(epoch, history);
    const lost = stored && !mine && !alike(stored.present, drawing) && stored.present.nodes.length ? stored : null;
    return { history, lost };
  }
}
