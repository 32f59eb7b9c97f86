// Tells Python which tab this is. sessionStorage belongs to one tab and survives its reload. A new tab takes the token
// that Python gives it, without a word; a reloaded one asks for its own; a duplicated one, whose storage is a copy, is
// told to renew it.
const KEY = "spnmkl.tab";
let told = null;

export default function ({ data, setStateValue }) {
  const kept = sessionStorage.getItem(KEY);
  if (kept === null || kept === data.renew) sessionStorage.setItem(KEY, data.token);
  else if (kept !== data.token && kept !== told) {
    told = kept;
    const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
    setStateValue("kept", { token: kept, reloaded });
  }
}
