// Tells Python which tab this is. sessionStorage belongs to one tab and survives its reload; a duplicated tab
// starts with a copy of it, and is asked to renew its token.
const KEY = "spnmkl.tab";
let told = null;

function fresh() {
  const token = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem(KEY, token);
  return token;
}

export default function ({ data, setStateValue }) {
  let token = sessionStorage.getItem(KEY) ?? fresh();
  if (data.renew === token) token = fresh();
  if (token !== told) {
    told = token;
    setStateValue("token", token);
  }
}
