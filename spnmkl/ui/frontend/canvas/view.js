// Which part of the drawing is seen, and how large. It moves only when the person moves it.

const FARTHEST = [0.05, 3]; // scales
const MARGIN = 18; // px around a drawing that fits

class View {
  constructor(canvas) {
    Object.assign(this, { canvas, x: 0, y: 0, scale: 1, width: 0, height: 0 });
  }

  toScreen(x, y) { return { x: (x - this.x) * this.scale + this.width / 2, y: (y - this.y) * this.scale + this.height / 2 }; }
  toWorld(x, y) { return { x: (x - this.width / 2) / this.scale + this.x, y: (y - this.height / 2) / this.scale + this.y }; }

  get seen() {
    const [start, end] = [this.toWorld(0, 0), this.toWorld(this.width, this.height)];
    return { left: start.x, top: start.y, right: end.x, bottom: end.y };
  }

  resize(width, height) { // what stands in the upper left stays there
    if (!width || !height) return;
    if (this.width) {
      this.x += (width - this.width) / 2 / this.scale;
      this.y += (height - this.height) / 2 / this.scale;
    }
    Object.assign(this, { width, height });
  }

  moved(dx, dy) { // in px
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.canvas.paintSoon(true);
  }

  zoom(factor, at = { x: this.width / 2, y: this.height / 2 }) { // the point under the finger stays there
    const before = this.toWorld(at.x, at.y);
    this.scale = clamp(this.scale * factor, ...FARTHEST);
    const after = this.toWorld(at.x, at.y);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
    this.canvas.paintSoon(true);
  }

  outline(items = [...this.canvas.items.values()]) {
    const boxes = items.map((item) => item.outline);
    if (!boxes.length) return null;
    const side = (name, best) => boxes.reduce((found, box) => best(found, box[name]), boxes[0][name]);
    return { left: side("left", Math.min), top: side("top", Math.min), right: side("right", Math.max), bottom: side("bottom", Math.max) };
  }

  get isFitted() { const box = this.outline(); return Boolean(box && this.shows(box)); } // all is seen

  fit(box = this.outline()) {
    if (!box || !this.width || !this.height) return;
    const [across, down] = [(this.width - 2 * MARGIN) / (box.right - box.left), (this.height - 2 * MARGIN) / (box.bottom - box.top)];
    this.scale = clamp(Math.min(across, down), FARTHEST[0], 1.25);
    this.x = (box.left + box.right) / 2;
    this.y = (box.top + box.bottom) / 2;
    this.besideTools(box);
    this.canvas.paintSoon();
  }

  besideTools(box) { // where the tools lie over the drawing, it goes aside, if there is room
    const { frame, stage } = this.canvas;
    const [tools, paper] = [frame.querySelector(".set[aria-label=View]"), stage].map((part) => part.getBoundingClientRect());
    const [high, low] = [this.toScreen(box.left, box.top), this.toScreen(box.right, box.bottom)];
    const [aside, down] = [low.x - (tools.left - paper.left) + 8, tools.bottom - paper.top - high.y + 4];
    if (aside <= 0 || down <= 0) return;
    if (aside <= high.x - 8) this.x += aside / this.scale;
    else if (down <= this.height - low.y - 8) this.y -= down / this.scale;
  }

  shows({ left, top, right, bottom }) {
    const seen = this.seen;
    return left >= seen.left - 1 && top >= seen.top - 1 && right <= seen.right + 1 && bottom <= seen.bottom + 1;
  }

  reveal(box) { // the least move that brings it into view
    const seen = this.seen, room = 8 / this.scale;
    const shift = (low, high, from, to) => (low < from ? low - from - room : high > to ? high - to + room : 0);
    this.x += shift(box.left, box.right, seen.left, seen.right);
    this.y += shift(box.top, box.bottom, seen.top, seen.bottom);
    this.canvas.paintSoon();
  }

  goTo(box) { // legible, and in the middle
    this.scale = Math.max(this.scale, LEAST_TEXT / 12);
    this.x = (box.left + box.right) / 2;
    this.y = (box.top + box.bottom) / 2;
    this.canvas.paintSoon();
  }
}
