// The player page: a list of titles, one of them playing, and how it fares.
import { redrawCharts } from "/airlane/assets/charts.js";
import { alertOf, byId, getJson, newSessionId, startTheme } from "/airlane/assets/ui.js";
import { Dashboard } from "./dashboard.js";
import { METRICS, readOptions, RULES, withOptions } from "./options.js";
import { Playback } from "./playback.js";
import { about, showTitles } from "./titles.js";

/** Seconds between two looks at the player and at the server. */
const EVERY_S = 1;
/** Questions without an answer after which the server counts as lost. */
const LOST_AFTER = 3;

const options = readOptions(location.search);
let blocked = "";
const say = (message) => alertOf(byId("alert"), blocked || message);
document.addEventListener("securitypolicyviolation", ({ blockedURI }) => {
  const server = URL.canParse(blockedURI) ? new URL(blockedURI).origin : blockedURI;
  blocked = `This page plays what its own server has, not what ${server} has. airlane serve --foreign-manifests allows it.`;
  say(blocked);
});

startTheme(byId("theme"), redrawCharts);
start().catch((error) => say(error.message));

async function start() {
  const title = await loadTitle();
  // Who has a link needs no list, and most servers give none.
  const wanted = title ? title.listed : !options.mpd;
  byId("titles").hidden = !wanted;
  const titles = wanted ? await loadTitles() : [];
  document.body.classList.toggle("bare", options.bare && (title || options.mpd) !== null);
  showTitles(byId("cards"), titles, title?.name ?? null);
  if (title) {
    const table = title.table ? await getJson(title.table).catch(() => null) : null;
    if (title.table && !table) say(`The quality table of ${title.title} cannot be read; the rule goes by rates.`);
    watch(title, table);
  } else if (options.mpd) {
    watch({ title: options.mpd, manifest: options.mpd, name: options.mpd.slice(-64), duration_s: 0, chunk_s: 0, rungs: [] }, null);
  } else if (options.title) {
    say(`The server has no title “${options.title}”.${titles.length ? " These are the ones that it has." : ""}`);
  }
}

/** The title that the address names, if the server has it. */
async function loadTitle() {
  if (!options.title) return null;
  try {
    const token = options.token === null ? "" : `&token=${encodeURIComponent(options.token)}`;
    return await getJson(`/airlane/title?name=${encodeURIComponent(options.title)}${token}`);
  } catch (error) {
    if (error.status === 403) {
      throw new Error("This link is not signed for this title, or has expired. Ask for a new one where you had it from.");
    }
    if (error.status === 404) return null;
    throw error;
  }
}

/** The titles, if the server lists them for everybody. */
async function loadTitles() {
  const note = byId("titles-note");
  try {
    const { titles } = await getJson("/airlane/titles");
    note.hidden = titles.length > 0;
    note.textContent = "The server has no titles. A title is a folder with a DASH manifest: airlane pack VIDEO FOLDER makes one.";
    return titles;
  } catch (error) {
    if (error.status === 404) {
      note.textContent = "This server does not list its titles. A link to one ends in /airlane/player?title=NAME; its operator's page of sessions has them all, and airlane serve --list-titles lists them here.";
      return [];
    }
    note.textContent = "The list of titles could not be loaded.";
    throw error;
  }
}

/** Plays a title and shows how it fares, once a second. */
function watch(title, table) {
  byId("watch").hidden = false;
  byId("name").textContent = title.title;
  byId("about").textContent = title.rungs.length ? about(title) : "";
  document.title = `${title.title} · Airlane`;
  const sid = options.sid ?? newSessionId();
  const playback = new Playback(/** @type {HTMLVideoElement} */ (byId("video")), {
    manifest: new URL(title.manifest, options.media ?? location.href).href,
    cid: title.name, sid, table,
    length: { duration_s: title.duration_s, chunk_s: title.chunk_s },
    options,
  }, say);
  // For the console, and for measurements from outside.
  Object.assign(globalThis, { airlane: { record: playback.record, sid } });
  if (options.bare) return;
  const dashboard = new Dashboard(sid, options);
  choices(table);
  let since = 0, missed = 0, asking = false;
  async function ask() {
    // The server tells of the session to who has its token, which comes with the first chunk.
    if (asking || !playback.token) return;
    asking = true;
    try {
      const reply = await getJson(`/airlane/session?token=${encodeURIComponent(playback.token)}&since=${since}`);
      if (missed >= LOST_AFTER) say("");
      missed = 0;
      since = dashboard.heard(reply) ?? since;
    } catch (error) {
      missed += 1;
      if (missed === LOST_AFTER) say(`The server is lost: ${error.message}. What is in the buffer goes on playing.`);
    } finally {
      asking = false;
    }
  }
  const look = () => {
    dashboard.looked(playback.read());
    ask();
  };
  look();
  setInterval(look, EVERY_S * 1e3);
}

/** The choices under the picture; each changes the address, and the page starts anew. */
function choices(table) {
  const metrics = Object.keys(METRICS).filter((m) => table?.rungs[0]?.quality[m]);
  const fill = (id, values, current) => {
    const select = /** @type {HTMLSelectElement} */ (byId(id));
    select.replaceChildren(...values.map(([value, text]) => new Option(text, value, false, value === current)));
  };
  fill("abr", Object.entries(RULES), options.abr);
  fill("metric", [["", "any device"], ...metrics.map((m) => [m, METRICS[m]])], options.metric ?? "");
  fill("cmcd", [
    ["query 1", "in the query"], ["header 1", "in headers"], ["query 2", "version 2, query and events"],
    ["header 2", "version 2, headers and events"], ["off 1", "off"],
  ], `${options.cmcd} ${options.version}`);
  byId("choices").addEventListener("change", () => {
    const value = (id) => /** @type {HTMLSelectElement} */ (byId(id)).value;
    const [cmcd, version] = value("cmcd").split(" ");
    location.href = withOptions(location.href, {
      abr: value("abr"), metric: value("metric") || null, cmcd, cmcdv: version, sid: null,
    });
  });
}
