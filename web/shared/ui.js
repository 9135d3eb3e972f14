// Small helpers of the player and the live page: elements, numbers, the theme, JSON from the server.

/** An element with a class and text. Text never passes through innerHTML. */
export function make(tag, className = "", text = undefined, attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** The element of that id, which the page has. */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** A number with so many decimals, an en dash for none. */
export function format(value, digits = 0) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [whole, fraction] = Math.abs(value).toFixed(digits).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  const text = fraction ? `${grouped}.${fraction}` : grouped;
  return value < 0 && /[1-9]/.test(text) ? "\u2212" + text : text;
}

/** Bits per second as Mbit/s, or null. */
export const mbps = (bps) => (bps === null || bps === undefined ? null : bps / 1e6);

/** Seconds as `1:05`, with the hours where there are any. */
export function clock(seconds) {
  const s = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
  const minutes = Math.floor(s / 60);
  return minutes < 60 ? `${minutes}:${two(s % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
}

/** JSON from the server; an error says what failed and why. */
export async function getJson(url) {
  let reply;
  try {
    reply = await fetch(url, { cache: "no-store" });
  } catch {
    throw new Error(`${url}: the server does not answer`);
  }
  if (!reply.ok) {
    const error = new Error(`${url}: the server says ${reply.status} ${reply.statusText}`.trim());
    throw Object.assign(error, { status: reply.status });
  }
  try {
    return await reply.json();
  } catch {
    throw new Error(`${url}: the answer is no JSON`);
  }
}

/** A random identifier of a session, a GUID as CMCD asks for. */
export function newSessionId() {
  // Pages over plain HTTP, from elsewhere than the own machine, have no randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Shows a message, or takes it away where there is none. */
export function alertOf(element, message) {
  element.hidden = !message;
  if (message && element.textContent !== message) element.replaceChildren(make("p", "", message));
}

const THEMES = ["auto", "light", "dark"];

/** The button that changes between light and dark; `changed` is told after each change. */
export function startTheme(button, changed) {
  const key = "airlane-theme", root = document.documentElement;
  const store = (act) => { try { return act(localStorage); } catch { return null; } };
  let theme = new URLSearchParams(location.search).get("theme") ?? store((s) => s.getItem(key));
  const set = (name) => {
    theme = THEMES.includes(name) ? name : THEMES[0];
    if (theme === THEMES[0]) delete root.dataset.theme; else root.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    changed();
  };
  button.addEventListener("click", () => {
    set(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
    store((s) => s.setItem(key, theme));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed());
  set(theme);
}
