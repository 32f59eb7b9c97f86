// The way of an edge, for what Python has not seen yet: as spnmkl/export/curves.py draws it, rule by rule.

const BESIDE = 3; // how far from a box an edge passes it
const TRIES = 24; // heights at which a way around is looked for

function curve(from, to) { // what is not to the right is met from above
  const [x1, x2] = [from.x + from.w / 2, to.x - to.w / 2];
  if (x2 - x1 >= 8) return [[x1, from.y], ...bent([x1, from.y], [x2, to.y])];
  const side = to.y >= from.y ? 1 : -1;
  const [y1, y2] = [from.y + side * (from.h ?? 0) / 2, to.y - side * (to.h ?? 0) / 2];
  return [[from.x, y1], [from.x, (y1 + y2) / 2], [to.x, (y1 + y2) / 2], [to.x, y2]];
}

function bent([x1, y1], [x2, y2]) {
  const half = (x2 - x1) / 2;
  return [[x1 + half, y1], [x2 - half, y2], [x2, y2]];
}

function* along(points) { // places on a line of cubic curves
  for (let k = 0; k + 3 < points.length; k += 3)
    for (let step = 0; step <= 32; step++) {
      const t = step / 32, s = 1 - t, weights = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
      yield [0, 1].map((side) => weights.reduce((sum, weight, j) => sum + weight * points[k + j][side], 0));
    }
}

function passed(points, boxes) { // the boxes that a line passes
  const met = new Set(), [xs, ys] = [0, 1].map((side) => points.map((point) => point[side]));
  const near = { left: Math.min(...xs) - 1, right: Math.max(...xs) + 1, top: Math.min(...ys) - 1, bottom: Math.max(...ys) + 1 };
  const others = boxes.filter((box) => meets(box, near));
  if (others.length) for (const [x, y] of along(points)) for (const box of others) if (x > box.left - 1 && x < box.right + 1 && y > box.top - 1 && y < box.bottom + 1) met.add(box);
  return met;
}

function routed(from, to, items) { // around what stands in the way, where there is a way
  const direct = curve(from, to);
  const [x1, x2] = [from.x + from.w / 2, to.x - to.w / 2];
  if (x2 - x1 < 24) return direct;
  const boxes = [];
  for (const item of items) if (item.id !== from.id && item.id !== to.id && item.x + item.w / 2 > x1 - 1 && item.x - item.w / 2 < x2 + 1) boxes.push(sides(item));
  const met = boxes.length ? passed(direct, boxes) : boxes;
  if (!met.size) return direct;
  const enter = Math.max(x1 + 8, Math.min(...[...met].map((box) => box.left)) - 2 * BESIDE);
  const leave = Math.min(x2 - 8, Math.max(...[...met].map((box) => box.right)) + 2 * BESIDE);
  if (leave <= enter) return direct;
  const far = (level) => Math.abs(level - from.y) + Math.abs(level - to.y);
  const levels = [...new Set([from.y, to.y, ...boxes.flatMap((box) => [box.top - BESIDE, box.bottom + BESIDE])])].sort((a, b) => far(a) - far(b)).slice(0, TRIES);
  const ways = levels.map((level) => [direct[0], ...bent(direct[0], [enter, level]), ...bent([enter, level], [leave, level]), ...bent([leave, level], direct[3])]);
  return ways.find((way) => !passed(way, boxes).size) ?? direct;
}

function meets(a, b) { return a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom; }

function sides({ x, y, w, h }) { return { left: x - w / 2, right: x + w / 2, top: y - h / 2, bottom: y + h / 2 }; }

function pathOf([start, ...rest]) { // as SVG and Path2D have it
  const said = rest.map((point) => point.join(" "));
  return `M${start.join(" ")}${said.map((point, k) => (k % 3 ? " " : "C") + point).join("")}`;
}
