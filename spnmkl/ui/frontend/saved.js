// Tells the person, and the canvas, what is on disk. Several of these may stand on a page, one for each part of it that
// is drawn by itself: what was told last holds.
const AGAIN = 1000; // ms after which is asked whether it is saved by now

const WORDS = { nothing: "", saved: "saved", saving: "saving…", failed: "not saved" };

function sign() {
  let element = document.getElementById("spnmkl-saved");
  if (!element) {
    element = Object.assign(document.createElement("div"), { id: "spnmkl-saved" });
    element.setAttribute("role", "status");
    document.body.append(element);
  }
  return element;
}

let later = null;

export default function ({ data, setStateValue }) {
  globalThis.spnmklSaved = data;
  const element = sign();
  element.dataset.state = data.state;
  element.textContent = WORDS[data.state] ?? "";
  element.title = data.words || (data.state === "saved" ? `Everything is saved in the project “${data.name}”.` : "");
  globalThis.dispatchEvent(new Event("spnmkl:saved"));
  clearTimeout(later);
  if (data.state === "saving" || data.state === "failed") {
    later = setTimeout(() => setStateValue("again", Date.now()), data.state === "failed" ? 10 * AGAIN : AGAIN);
  }
}
