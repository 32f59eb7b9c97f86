// Where new nodes are put: in view, beside their parent, on nothing, and so that their edges pass behind nothing.

const NEAR = 24; // the least from a parent's side to its child
const AHEAD = 66; // from a product to the left side of the box on its line
const CROSSED = 80; // what passing a box costs, in px of distance

const Placing = {
  // A child of a node: its spot, and that of the product between where a sum needs one.
  placeBelow(child, parent, between) {
    const { kind } = child, size = this.provisional(child), { w } = size;
    const from = this.items.get(parent.id);
    const least = parent.x + from.w / 2 + NEAR + (between ? AHEAD + 13 : 0) + w / 2;
    const last = this.childrenOf(parent.id).reduce((lowest, n) => Math.max(lowest, n.y), -Infinity);
    const wished = { x: Math.max(least, parent.x + LEVEL * (between ? 1.6 : 1) + (kind === "kernel" ? w / 2 : 0)), y: last === -Infinity ? parent.y : last + LINE };
    const above = kind === "product" ? 16 : 0; // its weight is written there
    const made = (x, y) => [...(between ? [newBox(USUAL.product, x - w / 2 - AHEAD, y)] : []), { ...newBox(size, x, y), above }];
    const aside = (x) => (x < least - 1 ? 3 * LEVEL : 0); // rather not below its parent
    const seen = this.view.shows(from.outline) || this.view.shows(sides(from));
    return this.freePlace(wished, made, { within: seen, from, aside });
  },

  placeLoose(kind, wished) { return this.freePlace(wished, (x, y) => [newBox(USUAL[kind], x, y)], { within: true }); },

  // The best place near a wish for some boxes in a row, the first of them joined to `from`. The nearest are looked at
  // first, and no more once the distance alone costs more than the best one.
  freePlace(wished, made, { within, from, aside = () => 0 }) {
    const items = [...this.items.values()], { seen, scale } = this.view;
    const room = 12 / scale;
    const inside = (box) => box.left >= seen.left + room && box.right <= seen.right - room && box.top >= seen.top + room && box.bottom <= seen.bottom - 2 * room;
    const clear = (box) => items.every(({ outline }) => outline.right + 4 <= box.left || outline.left >= box.right + 4 || outline.bottom + 1 <= box.top || outline.top >= box.bottom + 1);
    const best = (kept) => {
      let found = null;
      for (const { x, y, cost } of spotsAround(wished, within && kept ? seen : null, aside)) {
        if (found && cost >= found.cost) break;
        const row = made(x, y), boxes = row.map((box) => ({ ...sides(box), top: sides(box).top - (box.above ?? 0) }));
        if (within && kept && !boxes.every(inside) || !boxes.every(clear)) continue;
        const all = cost + CROSSED * this.crossings(from ? [from, ...row] : row, boxes, items);
        if (!found || all < found.cost) found = { x, y, cost: all };
      }
      return found;
    };
    const { x, y } = best(true) ?? best(false) ?? wished;
    return { x: Math.round(x), y: Math.round(y) };
  },

  crossings(row, boxes, items) { // of the new edges with boxes, and of the new boxes with edges
    const others = items.filter((item) => item.id !== row[0].id).map(sides);
    const mine = row.slice(1).reduce((sum, to, k) => sum + passed(curve(row[k], to), others).size, 0);
    const theirs = this.lines.filter(({ outline, points }) => boxes.some((box) => meets(box, outline)) && passed(points, boxes).size);
    return mine + theirs.length;
  },

  // How far a part has to be moved to stand on nothing, rather in view, and its edge from a parent behind nothing.
  placePart(nodes, dx, dy, parent) {
    const boxes = nodes.map((n) => sides(newBox(this.provisional(n), n.x, n.y)));
    const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])));
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])));
    const whole = { id: "\0new", w: right - left, h: bottom - top };
    const made = (x, y) => [{ ...whole, x: (left + right) / 2 + x, y: (top + bottom) / 2 + y }];
    const from = parent && this.items.get(parent.id);
    const spot = this.freePlace({ x: dx, y: dy }, made, { within: !from || this.inView(from), from });
    return [spot.x, spot.y];
  },
};

const newBox = ({ w, h }, x, y) => ({ id: "\0new", x, y, w, h });

function* spotsAround(wished, seen, aside) { // by their distance; up and down rather than to the side
  const reach = seen ? Math.max(seen.bottom - seen.top, seen.right - seen.left) : 3000;
  const steps = (size) => Array.from({ length: Math.min(60, 2 * Math.ceil(reach / size)) }, (_, k) => (k % 2 ? 1 : -1) * Math.ceil(k / 2) * size);
  const rows = steps(LINE / 2), columns = steps(40);
  const spots = columns.flatMap((dx) => rows.map((dy) => ({ x: wished.x + dx, y: wished.y + dy, cost: Math.abs(dy) + 1.5 * Math.abs(dx) + aside(wished.x + dx) })));
  yield* spots.sort((a, b) => a.cost - b.cost);
}
