// Tells Python which tab this is. sessionStorage belongs to one tab: it survives a reload and another address typed in
// the same tab, and a duplicated tab gets a copy of it. A new tab takes the token that Python gives it; one that has a
// token already asks all tabs whose it is: if nobody answers, the tab is the same and asks Python for its own workspace;
// if somebody does, it is a copy and is told to renew its token. Python shows the page once the tab has said what it is.
const KEY = "spnmkl.tab";
const PATIENCE = 200; // milliseconds: an open tab answers within a few

const tab = (globalThis.spnmklTab ??= { own: null, asked: null, channel: new BroadcastChannel(KEY) });
tab.channel.onmessage = ({ data }) => {
  if (data.whose && data.whose === tab.own) tab.channel.postMessage({ mine: data.whose });
  if (data.mine && data.mine === tab.asked) tab.answered = true;
};

function followTheme() { // dialogs stand outside of the app's element, which alone is told which theme it has
  const app = document.querySelector(".stApp");
  const tell = () => {
    const theme = getComputedStyle(app).colorScheme;
    if (tab.theme && tab.theme !== theme) tab.say("theme", theme); // pictures are drawn in Python
    document.documentElement.style.colorScheme = tab.theme = theme;
  };
  if (!app || tab.followed === app) return;
  tab.followed = app;
  tell();
  new MutationObserver(tell).observe(app, { attributes: true, attributeFilter: ["class"] });
}

async function isFree(token) {
  Object.assign(tab, { asked: token, answered: false });
  tab.channel.postMessage({ whose: token });
  for (let waited = 0; waited < PATIENCE && !tab.answered; waited += 25) await new Promise((done) => setTimeout(done, 25));
  return !tab.answered;
}

// What this browser alone knows, as Python reads it: a cookie whose third part is masked by the second.
function secret() {
  const [, mask, masked] = (document.cookie.match(/_streamlit_xsrf="?([^;"]*)/)?.[1] ?? "").split("|");
  if (!mask || !masked) return null;
  const byte = (hex, k) => parseInt(hex.substr(2 * (k % (hex.length / 2)), 2), 16);
  return Array.from({ length: masked.length / 2 }, (_, k) => (byte(masked, k) ^ byte(mask, k)).toString(16).padStart(2, "0")).join("");
}

export default function ({ data, setStateValue }) {
  tab.say = setStateValue;
  // Tabs that begin at the same moment are each given a secret, and the last one stays: the others would be refused files.
  const own = secret();
  if (own && data.browser && own !== data.browser && !tab.reloaded) {
    tab.reloaded = true;
    location.reload();
    return;
  }
  followTheme();
  const kept = sessionStorage.getItem(KEY);
  if (kept === null || kept === data.token || kept === data.renew) {
    tab.own = data.token;
    sessionStorage.setItem(KEY, data.token);
    if (kept === null) setStateValue("kept", { token: data.token, same: true });
  } else if (tab.round !== kept + data.token) {
    tab.round = kept + data.token;
    isFree(kept).then((same) => setStateValue("kept", { token: kept, same }));
  }
}
