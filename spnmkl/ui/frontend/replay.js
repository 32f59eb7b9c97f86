// Plays a training on the drawing beside it, without asking Python: all iterations come at once, as the values that
// change from one to the next. A column is [path into the looks of the drawing, its value in every frame]; the last frame
// is the result, with which the canvas begins.
const INSTANCES = new WeakMap();
const WHOLE = 7000; // milliseconds that a long replay takes
const STEP = [80, 450]; // at least and at most for one frame

function canvasOf(key) { // the canvas of that key, in whichever shadow root it was mounted
  const search = (root) => {
    const frame = root.querySelector(".frame");
    if (frame) return frame;
    for (const element of root.querySelectorAll("*")) {
      const found = element.shadowRoot && search(element.shadowRoot);
      if (found) return found;
    }
    return null;
  };
  const place = document.querySelector(`.st-key-${key}`);
  return place && search(place);
}

class Replay {
  constructor(root) {
    [this.button, this.slider, this.output] = ["button", "input", "output"].map((tag) => root.querySelector(tag));
    this.button.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    this.slider.addEventListener("input", () => { this.pause(); this.show(Number(this.slider.value)); });
  }

  update(data) {
    const same = this.data?.name === data.name;
    this.data = data;
    this.last = data.words.length - 1;
    this.slider.max = this.last;
    if (!same) { this.pause(); this.at = this.last; }
    this.show(Math.min(this.at, this.last));
  }

  play() {
    if (this.at === this.last) this.show(0);
    const [least, most] = STEP;
    this.timer = setInterval(() => {
      this.show(this.at + 1);
      if (this.at === this.last) this.pause();
    }, Math.min(most, Math.max(least, WHOLE / this.last)));
    this.label("⏸", "Pause the replay");
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.label("▶", "Play the training");
  }

  label(sign, words) {
    this.button.textContent = sign;
    this.button.setAttribute("aria-label", words);
  }

  show(at) {
    this.at = at;
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", this.data.words[at]);
    this.output.textContent = this.data.words[at];
    const frame = canvasOf(this.data.canvas);
    if (!frame?.spnCanvas) return;
    if (frame !== this.frame) {
      this.forget();
      this.frame = frame; // what Python sends later has the looks of the result
      this.events = new AbortController();
      frame.addEventListener("updated", () => { this.result = null; if (this.at !== this.last) this.paint(); }, { signal: this.events.signal });
    }
    this.paint();
  }

  paint() {
    const canvas = this.frame.spnCanvas;
    this.result ??= canvas.looks;
    canvas.looks = this.at === this.last ? this.result : this.looks();
    this.frame.dataset.iteration = this.data.words[this.at];
    canvas.show();
  }

  forget() { // leave the drawing as it was found: whoever plays on it next begins with the result
    this.pause();
    this.events?.abort();
    const canvas = this.frame?.spnCanvas;
    if (canvas && this.result && this.at !== this.last) { canvas.looks = this.result; canvas.show(); }
    this.frame = this.result = null;
  }

  looks() {
    const looks = structuredClone(this.result);
    for (const [path, values] of this.data.columns) {
      const parent = path.slice(0, -1).reduce((part, key) => part?.[key], looks);
      if (!parent) continue;
      const value = values[this.at];
      if (value === null) delete parent[path.at(-1)];
      else parent[path.at(-1)] = value;
    }
    return looks;
  }
}

export default function ({ parentElement, data }) {
  if (!INSTANCES.has(parentElement)) INSTANCES.set(parentElement, new Replay(parentElement));
  const replay = INSTANCES.get(parentElement);
  replay.update(data);
  return () => { replay.forget(); INSTANCES.delete(parentElement); };
}
