// The whole drawing in a corner, while a part of it is out of sight; a click or a drag there moves the view.

class Minimap {
  constructor(canvas, paper) {
    Object.assign(this, { canvas, paper, ctx: paper.getContext("2d"), width: 150, height: 92 });
    const ratio = globalThis.devicePixelRatio || 1;
    Object.assign(paper, { width: this.width * ratio, height: this.height * ratio });
    this.ctx.scale(ratio, ratio);
    const go = (event) => {
      const box = paper.getBoundingClientRect();
      canvas.view.x = this.left + (event.clientX - box.x) / this.scale;
      canvas.view.y = this.top + (event.clientY - box.y) / this.scale;
      canvas.paintSoon(true);
    };
    const on = { signal: canvas.events.signal };
    paper.addEventListener("pointerdown", (event) => { paper.setPointerCapture(event.pointerId); go(event); }, on);
    paper.addEventListener("pointermove", (event) => { if (event.buttons) go(event); }, on);
  }

  paint() {
    const { canvas, ctx } = this;
    const box = canvas.view.outline();
    const needed = box && !canvas.view.shows(box);
    this.paper.hidden = !needed;
    if (!needed) return;
    const seen = canvas.view.seen;
    const [left, top, right, bottom] = [Math.min(box.left, seen.left), Math.min(box.top, seen.top), Math.max(box.right, seen.right), Math.max(box.bottom, seen.bottom)];
    this.scale = Math.min((this.width - 8) / (right - left), (this.height - 8) / (bottom - top));
    this.left = (left + right) / 2 - this.width / 2 / this.scale;
    this.top = (top + bottom) / 2 - this.height / 2 / this.scale;
    const put = (x, y) => [(x - this.left) * this.scale, (y - this.top) * this.scale];
    ctx.clearRect(0, 0, this.width, this.height);
    for (const item of canvas.items.values()) {
      ctx.fillStyle = canvas.isChosen(item) ? canvas.colors.primary : item.look.border ?? canvas.colors.line;
      ctx.fillRect(...put(item.x - item.w / 2, item.y - item.h / 2), Math.max(2, item.w * this.scale), Math.max(1.5, item.h * this.scale));
    }
    const [x, y] = put(seen.left, seen.top), [x2, y2] = put(seen.right, seen.bottom);
    ctx.strokeStyle = canvas.colors.primary;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x + 0.75, y + 0.75, x2 - x - 1.5, y2 - y - 1.5);
  }
}
