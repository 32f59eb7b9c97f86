// Every visible text of the page whose contrast with what is behind it is below WCAG AA: [ratio, text, where].
() => {
  const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((k) => top[3] * top[k] + (1 - top[3]) * under[k]);
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const parents = (element) => {
    const found = [];
    for (let e = element; e; e = e.parentElement ?? e.getRootNode().host) found.push(e);
    return found;
  };
  const behind = (element) => {
    const layers = [];
    const { left, top, width, height } = element.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    for (const cell of element.closest("svg")?.querySelectorAll(".mark-rect path") ?? []) {
      const box = cell.getBoundingClientRect();
      const style = getComputedStyle(cell);
      const [r, g, b, a] = rgba(style.fill);
      if (x > box.left && x < box.right && y > box.top && y < box.bottom) layers.push([r, g, b, a * Number(style.opacity)]);
    }
    for (const e of parents(element)) {
      const box = e.getBoundingClientRect();
      const beside = x < box.left || x > box.right || y < box.top || y > box.bottom;
      if (beside && box.width < 40) continue; // as the value above a slider
      const color = rgba(getComputedStyle(e).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const low = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join(" ").trim();
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      const idle = element.closest("[disabled], [aria-disabled=true], .katex-mathml, script, style, title, canvas, [data-testid=stToolbar] *");
      const drawn = element.closest("svg");
      if (!text || !box.width || !box.height || style.visibility === "hidden" || idle || (drawn && !drawn.closest(".stVegaLiteChart"))) continue;
      const opacity = parents(element).reduce((share, e) => share * Number(getComputedStyle(e).opacity), 1);
      if (opacity < 0.05) continue;
      const ink = rgba(drawn ? style.fill : style.color);
      const ground = behind(element);
      const found = ratio(over([ink[0], ink[1], ink[2], ink[3] * opacity], ground), ground);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (found < (large ? 3 : 4.5) - 0.005)
        low.push([Math.round(100 * found) / 100, text.slice(0, 60), element.closest("[data-testid]")?.dataset.testid ?? element.className]);
    }
  };
  walk(document.body);
  return low;
}
