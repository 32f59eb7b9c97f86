// Tells Python which tab this is. sessionStorage belongs to one tab and survives its reload and another address typed
// into it. A new tab takes the token that Python gives it, without a word; one that has a token asks for what belongs to
// it; a duplicated one, whose storage is a copy, is told to renew it. A tab holds a lock on its token while it lives,
// which tells the two apart.
const KEY = "spnmkl.tab";
let told = null;
let locked = null;

function hold(token) { // whether the token is this tab's alone
  const reloaded = performance.getEntriesByType("navigation")[0]?.type === "reload";
  if (!navigator.locks) return Promise.resolve(reloaded); // pages from afar without https have none
  return new Promise((tell) => {
    navigator.locks.request(`spnmkl.${token}`, { ifAvailable: true }, (lock) => {
      tell(Boolean(lock) || reloaded);
      return lock ? new Promise(() => {}) : undefined;
    });
  });
}

export default function ({ data, setStateValue }) {
  const kept = sessionStorage.getItem(KEY);
  if (kept === null || kept === data.renew) sessionStorage.setItem(KEY, data.token);
  else if (kept !== data.token) {
    if (kept === told) return;
    told = locked = kept;
    hold(kept).then((alone) => setStateValue("kept", { token: kept, reloaded: alone }));
    return;
  }
  if (locked !== data.token) {
    locked = data.token;
    hold(data.token);
  }
}
