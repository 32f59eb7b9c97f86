// Paints what the canvas shows. Every size and colour is the scene's, which Python made; only what Python has not seen
// yet is drawn as the last node of its kind was.

const MANY = 150; // items above which texts are left out while the view moves
const BADGE = 9; // half the side of the place where a click opens or closes a group
const CLOSER = 11; // how far left of a node the sign that closes its group stands: within the margin of a drawing that fits
const OPEN = "⊞"; // painted as lines, so that it is there in every font
const ROOM = { // the largest text for which there is room: what is said first, and second
  sum: { first: 15.5, second: 13.8 }, product: { first: 15.5, second: 13.8 }, kernel: { first: 24, second: 18 }, group: { first: 19, second: 15.5, alone: 34 },
};
const NAMED = 12; // px, of the names of open groups whose boxes are too small for text
const ALIGN = { start: "left", middle: "center", end: "right" };

class Painter {
  constructor(canvas, paper) {
    Object.assign(this, { canvas, paper, ctx: paper.getContext("2d"), widths: new Map(), cuts: new Map(), smallest: Infinity, named: [] });
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
    const rim = 6; // of what is marked
    const visible = (box) => box.right + rim >= seen.left && box.left - rim <= seen.right && box.bottom + rim >= seen.top && box.top - rim <= seen.bottom;
    for (const line of lines) if (visible(line.outline)) this.line(line);
    for (const item of items.values()) if (visible(item.outline)) { this.item(item); this.painted.add(item.id); }
    this.names(visible);
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
    const alone = kind === "group" && LEAST_TEXT / this.scale > ROOM.group.second; // it has room for its name still
    const least = Math.max(1, LEAST_TEXT / this.scale / 13); // weights stand on a line: larger ones further from it
    for (const t of look.texts ?? []) {
      const second = t !== look.texts[0] && t.style !== "bold";
      if (t.text === OPEN || alone && second) continue;
      const inside = boxed && t.x < w / 2;
      const room = t.text === "!" ? Infinity : second ? ROOM[kind].second : alone ? ROOM.group.alone : ROOM[kind].first; // what is said second goes first
      const off = alone && t.text !== "!" ? 0 : boxed ? t.y : t.y * least;
      this.text(t.text, x + t.x, y + off, t.size, { color: t.ink, align: ALIGN[t.anchor], most: inside ? w / 2 - t.x - (kind === "group" ? 28 : 5) : Infinity, room, bold: t.style === "bold", italic: t.style === "italic", halo: t.halo });
    }
    if (kind === "group") this.badge(x + w / 2 - 16, y, "+", look.ink, look.fill);
    if (open) this.badge(x - w / 2 - CLOSER, y, "−", colors.text, colors.background);
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

  // Where the boxes are too small for text, the open groups have their names written over them, the inner ones first;
  // at least one name is there, so that no picture is without a word.
  names(visible) {
    const { ctx, canvas } = this;
    this.named = [];
    if (LEAST_TEXT / this.scale <= ROOM.kernel.first || !canvas.items.size) return;
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.font = `600 ${NAMED}px ${canvas.colors.face}`;
    const whole = { text: count(canvas.drawing.nodes.filter((n) => n.kind === "kernel").length, "kernel"), items: [...canvas.items.values()] };
    for (const { text, items } of [...canvas.namedParts(), whole]) {
      const middle = items[Math.floor(items.length / 2)];
      if (!visible(middle.outline) || items === whole.items && this.named.length) continue;
      const at = canvas.view.toScreen(middle.x, middle.y), wide = ctx.measureText(text).width / 2 + 8;
      const x = clamp(at.x, wide + 2, Math.max(wide + 2, canvas.view.width - wide - 2)), y = clamp(at.y, 14, canvas.view.height - 14);
      const box = { text, items, left: x - wide, right: x + wide, top: y - 11, bottom: y + 11 };
      if (this.named.some((other) => other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top)) continue;
      this.named.push(box);
    }
    for (const { text, left, right, top, bottom } of this.named) {
      ctx.beginPath();
      ctx.roundRect(left, top, right - left, bottom - top, 11);
      ctx.fillStyle = canvas.colors.background;
      ctx.fill();
      ctx.lineWidth = 1;
      ctx.strokeStyle = canvas.colors.kernel_border ?? canvas.colors.line;
      ctx.stroke();
      Object.assign(ctx, { textAlign: "center", textBaseline: "middle", fillStyle: canvas.colors.text });
      ctx.fillText(text, (left + right) / 2, (top + bottom) / 2 + 0.5);
      this.smallest = Math.min(this.smallest, NAMED);
    }
    const corner = canvas.view.toScreen(0, 0);
    ctx.setTransform(this.ratio * this.scale, 0, 0, this.ratio * this.scale, this.ratio * corner.x, this.ratio * corner.y);
  }

  nameAt({ x, y }) { return this.named.find(({ left, right, top, bottom }) => x >= left && x <= right && y >= top && y <= bottom) ?? null; }

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
    ctx.stroke(new Path2D(pathOf(curve(item, { x: to.x, y: to.y, w: 0 }))));
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
