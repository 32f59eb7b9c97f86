// Paints what the canvas shows. Every size and colour is the scene's, which Python made; only what Python has not seen
// yet is drawn as the last node of its kind was.

const MANY = 150; // items above which texts are left out while the view moves
const BADGE = 9; // half the side of the place where a click opens or closes a group
const OPEN = "⊞"; // painted as lines, so that it is there in every font
const ALIGN = { start: "left", middle: "center", end: "right" };

class Painter {
  constructor(canvas, paper) {
    Object.assign(this, { canvas, paper, ctx: paper.getContext("2d"), widths: new Map(), cuts: new Map(), smallest: Infinity });
  }

  resize(width, height) {
    this.ratio = globalThis.devicePixelRatio || 1;
    this.paper.width = Math.round(width * this.ratio);
    this.paper.height = Math.round(height * this.ratio);
    Object.assign(this.paper.style, { width: `${width}px`, height: `${height}px` });
  }

  paint(moving) {
    const { canvas, ctx } = this;
    const { view, items, lines } = canvas;
    this.quick = moving && items.size > MANY;
    this.smallest = Infinity;
    this.painted = new Set();
    this.scale = view.scale;
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, view.width, view.height);
    const corner = view.toScreen(0, 0);
    ctx.setTransform(this.ratio * view.scale, 0, 0, this.ratio * view.scale, this.ratio * corner.x, this.ratio * corner.y);
    const seen = view.seen;
    const visible = (box) => box.right >= seen.left && box.left <= seen.right && box.bottom >= seen.top && box.top <= seen.bottom;
    for (const line of lines) if (visible(line.outline)) this.line(line);
    for (const item of items.values()) if (visible(item.outline)) { this.item(item); this.painted.add(item.id); }
    if (!moving) this.handles();
    if (canvas.hand.pulled) this.pulled(canvas.hand.pulled);
    return { textPx: this.smallest === Infinity ? 0 : Math.round(10 * this.smallest) / 10 };
  }

  line({ name, path, look }) {
    const { ctx, canvas } = this;
    const marked = canvas.chosenEdges.has(name) || canvas.hand.hoveredEdge === name;
    ctx.lineWidth = Math.max((look.width ?? 1.5) + (marked ? 1.6 : 0), 0.8 / this.scale);
    ctx.strokeStyle = marked ? canvas.colors.primary : look.color ?? canvas.colors.line;
    ctx.setLineDash(look.dashed ? [5, 4] : []);
    ctx.stroke(path);
    ctx.setLineDash([]);
  }

  meets({ path, look }, { x, y }) { // whether an edge passes here
    const { ctx, canvas } = this;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.lineWidth = (look.width ?? 1.5) + 10 / canvas.view.scale;
    return ctx.isPointInStroke(path, x, y);
  }

  item(item) {
    const { ctx, canvas } = this;
    const { look } = item;
    const chosen = canvas.isChosen(item);
    ctx.save();
    if (item.kind === "group") this.behind(item);
    outlined(ctx, item, 0);
    ctx.fillStyle = look.fill ?? canvas.colors.background;
    ctx.fill();
    ctx.lineWidth = (look.stroke ?? 1.4) + (item.id === canvas.hand.hovered ? 0.8 : 0);
    ctx.strokeStyle = look.border ?? canvas.colors.line;
    ctx.setLineDash(look.dashed ? [4, 3] : []);
    ctx.stroke();
    ctx.setLineDash([]);
    if (chosen || item.id === canvas.from || item.id === canvas.hand.target) {
      outlined(ctx, item, 3);
      ctx.lineWidth = Math.max(2, 2 / this.scale);
      ctx.strokeStyle = canvas.colors.primary;
      ctx.setLineDash(chosen ? [] : [4, 3]);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    if (!this.quick) this.words(item);
    ctx.restore();
  }

  behind(item) { // a closed group is a pile
    const { ctx } = this;
    ctx.beginPath();
    ctx.roundRect(item.x - item.w / 2 + 5, item.y - item.h / 2 + 5, item.w, item.h, 5);
    ctx.fillStyle = item.look.fill;
    ctx.fill();
    ctx.lineWidth = 1;
    ctx.setLineDash([2, 2]);
    ctx.strokeStyle = item.look.border;
    ctx.stroke();
    ctx.setLineDash([]);
  }

  words({ kind, x, y, w, h, look, open }) {
    const { colors } = this.canvas;
    const boxed = kind === "kernel" || kind === "group";
    if (!boxed) this.text(look.sign ?? SIGN[kind], x, y + 0.5, w * 0.68, { color: look.ink, align: "center", room: h, sign: true });
    for (const t of look.texts ?? []) {
      if (t.text === OPEN) continue;
      const inside = boxed && t.x < w / 2;
      const second = t !== look.texts[0] && t.style !== "bold";
      const room = second ? t.size + 1.5 : boxed ? h * (kind === "group" ? 0.5 : 1) : 15.5; // what is said second goes first
      this.text(t.text, x + t.x, y + t.y, t.size, { color: t.ink, align: ALIGN[t.anchor], most: inside ? w / 2 - t.x - (kind === "group" ? 28 : 5) : Infinity, room, bold: t.style === "bold", italic: t.style === "italic", halo: t.halo });
    }
    if (kind === "group") this.badge(x + w / 2 - 16, y, "+", look.ink, look.fill);
    if (open) this.badge(x - w / 2 - 14, y, "−", colors.text, colors.background);
  }

  badge(x, y, sign, ink, fill) { // ⊞ or ⊟, drawn so that it is there in every font
    const { ctx } = this;
    if (BADGE * this.scale < 4) return;
    ctx.beginPath();
    ctx.roundRect(x - 6.5, y - 6.5, 13, 13, 2);
    ctx.fillStyle = fill;
    ctx.fill();
    ctx.lineWidth = 1.2;
    ctx.strokeStyle = ink;
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - 3.5, y);
    ctx.lineTo(x + 3.5, y);
    if (sign === "+") { ctx.moveTo(x, y - 3.5); ctx.lineTo(x, y + 3.5); }
    ctx.stroke();
  }

  text(words, x, y, size, { color, align = "left", most = Infinity, room, bold, italic, halo, sign }) {
    const { ctx, canvas } = this;
    const drawn = sign ? size : Math.max(size, LEAST_TEXT / this.scale); // small text stays legible while there is room for it
    if (!words || drawn > room || (sign && drawn * this.scale < 5)) return;
    const font = `${italic ? "italic " : ""}${bold ? "600 " : ""}${Math.round(100 * drawn) / 100}px ${canvas.colors.face}`;
    const shown = this.cut(words, font, drawn, most);
    if (!shown) return;
    if (!sign) this.smallest = Math.min(this.smallest, drawn * this.scale);
    ctx.font = font;
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    if (halo) {
      ctx.lineWidth = 3;
      ctx.lineJoin = "round";
      ctx.strokeStyle = canvas.colors.background;
      ctx.strokeText(shown, x, y);
    }
    ctx.fillStyle = color;
    ctx.fillText(shown, x, y);
  }

  cut(words, font, size, most) {
    if (most === Infinity) return words;
    const key = `${Math.round(most / size * 20)} ${words}`;
    if (this.cuts.size > 20000) this.cuts.clear();
    if (!this.cuts.has(key)) {
      this.ctx.font = font;
      const wide = (text) => this.ctx.measureText(text).width > most;
      let length = words.length;
      if (wide(words)) {
        length = Math.min(length, Math.floor(most / (0.3 * size)));
        while (length > 1 && wide(`${words.slice(0, length)}…`)) length--;
      }
      this.cuts.set(key, length === words.length ? words : length > 2 ? `${words.slice(0, length)}…` : "");
    }
    return this.cuts.get(key);
  }

  handles() { // the port of the node under the mouse, or of the chosen one: pull it, or click it
    const { ctx, canvas } = this;
    const item = canvas.hand.ported();
    if (!item) return;
    const at = port(item, this.scale);
    const radius = PORT / Math.max(this.scale, 0.6);
    ctx.beginPath();
    ctx.arc(at.x, at.y, radius, 0, 2 * Math.PI);
    ctx.fillStyle = canvas.colors.primary;
    ctx.fill();
    ctx.strokeStyle = canvas.colors.onPrimary;
    ctx.lineWidth = 1.8;
    ctx.beginPath();
    ctx.moveTo(at.x - radius / 2, at.y);
    ctx.lineTo(at.x + radius / 2, at.y);
    ctx.moveTo(at.x, at.y - radius / 2);
    ctx.lineTo(at.x, at.y + radius / 2);
    ctx.stroke();
  }

  pulled({ from, to }) {
    const { ctx, canvas } = this;
    const item = canvas.items.get(from);
    if (!item) return;
    ctx.lineWidth = 2;
    ctx.strokeStyle = canvas.colors.primary;
    ctx.stroke(new Path2D(curve(item, { x: to.x, y: to.y, w: 0 })));
  }
}

const PORT = 8; // radius

function port(item, scale) {
  const away = 0.36 * item.w + (PORT - 1) / Math.max(scale, 0.6); // to the lower right: the weight stands on the line
  return { x: item.x + away, y: item.y + away };
}

function outlined(ctx, { kind, x, y, w, h }, more) {
  ctx.beginPath();
  if (kind === "kernel" || kind === "group") ctx.roundRect(x - w / 2 - more, y - h / 2 - more, w + 2 * more, h + 2 * more, 5 + more);
  else ctx.arc(x, y, w / 2 + more, 0, 2 * Math.PI);
}

function curve(from, to) { // as the scene draws it, for what is being moved; what is not to the right is met from above
  const [x1, x2] = [from.x + from.w / 2, to.x - to.w / 2];
  const half = (x2 - x1) / 2;
  if (half >= 4) return `M${x1} ${from.y}C${x1 + half} ${from.y} ${x2 - half} ${to.y} ${x2} ${to.y}`;
  const side = to.y >= from.y ? 1 : -1;
  const [y1, y2] = [from.y + side * (from.h ?? 0) / 2, to.y - side * (to.h ?? 0) / 2];
  return `M${from.x} ${y1}C${from.x} ${(y1 + y2) / 2} ${to.x} ${(y1 + y2) / 2} ${to.x} ${y2}`;
}
