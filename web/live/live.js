// The live page: every session of the server, asked for once a second.
import { Chart, redrawCharts } from "/airlane/assets/charts.js";
import { scaleOf } from "/airlane/assets/scales.js";
import { alertOf, byId, format, getJson, make, mbps, startTheme } from "/airlane/assets/ui.js";
import { Sessions } from "./sessions.js";

/** Seconds between two questions to the server. */
const EVERY_S = 1;
/** Questions without an answer after which the server counts as lost. */
const LOST_AFTER = 3;

const REGIMES = { minerva: "Minerva", plain: "equal shares", unmanaged: "not managed" };
const ARMS = { minerva: "arm Minerva", cubic: "arm Cubic" };

const sessions = new Sessions();
let window_s = 300, missed = 0, asking = false;

const what = [
  ["Rate", "Mbit/s", [0, 1], "rate_bps", 1e-6], ["Weight", "plain connections", [0, 2], "weight", 1],
  ["Buffer", "s", [0, 10], "buffer_s", 1],
];
/** @type {{chart: Chart, key: string, scale: number, unit?: string}[]} */
const charts = what.map(([title, unit, atLeast, key, scale]) => ({
  chart: new Chart(byId("charts"), { title, unit, atLeast }), key, scale,
}));
chartsOf(scaleOf(null));

startTheme(byId("theme"), redrawCharts);
byId("span").addEventListener("click", (event) => {
  const seconds = Number(/** @type {HTMLElement} */ (event.target).dataset.seconds);
  if (seconds) show(seconds);
});
show(window_s);
ask();
setInterval(ask, EVERY_S * 1e3);
showTitles();

/** Has charts of quality and QoE in the unit of a scale: values of two measures do not stand in one. */
function chartsOf({ unit, atLeast }) {
  if (charts.some((c) => c.unit === unit)) return;
  for (const [title, key] of [["Quality", "quality"], ["QoE, mean so far", "qoe"]]) {
    charts.push({ chart: new Chart(byId("charts"), { title, unit, atLeast }), key, scale: 1, unit });
  }
}

async function ask() {
  if (asking) return;
  asking = true;
  try {
    sessions.heard(await getJson(`/airlane/sessions?since=${sessions.since}`));
    missed = 0;
    alertOf(byId("alert"), "");
  } catch (error) {
    missed += 1;
    if (missed >= LOST_AFTER) {
      alertOf(byId("alert"), `The server is lost: ${error.message}. What stands here is what it said last.`);
    }
  } finally {
    asking = false;
  }
  byId("some").classList.toggle("stale", missed >= LOST_AFTER);
  draw();
}

/** The titles, each with its link to the player, which the public server has. */
async function showTitles() {
  const note = byId("titles-note");
  try {
    const { titles } = await getJson("/airlane/titles");
    note.hidden = titles.length > 0;
    note.textContent = "The server has no titles. A title is a folder with a DASH manifest: airlane pack VIDEO FOLDER makes one.";
    byId("titles").replaceChildren(...titles.map((title) => {
      const item = make("li");
      item.append(title.player ? make("a", "", title.title, { href: title.player }) : title.title);
      item.append(" ", make("span", "note", title.managed ? "" : "equal shares"));
      return item;
    }));
  } catch (error) {
    note.textContent = `The list of titles could not be loaded: ${error.message}`;
  }
}

function show(seconds) {
  window_s = seconds;
  for (const button of byId("span").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.seconds) === seconds));
  }
  draw();
}

function draw() {
  if (sessions.now_s === null) return;
  const all = sessions.list();
  byId("empty").hidden = all.length > 0;
  byId("some").hidden = all.length === 0;
  byId("summary").textContent = summary(all.filter((s) => !s.ended));
  rows(all);
  const measured = new Set(all.map((s) => scaleOf(s.now.metric).unit));
  // Of several units each cell has its own.
  set(byId("quality-unit"), measured.size > 1 ? "" : [...measured, scaleOf(null).unit][0]);
  const shown = all.filter((s) => s.shown && !s.ended);
  const units = new Set(shown.map((s) => scaleOf(s.now.metric).unit));
  shown.forEach((s) => chartsOf(scaleOf(s.now.metric)));
  for (const { chart, key, scale, unit } of charts) {
    // Where nothing is shown, the charts of points stand for the others.
    chart.figure.hidden = unit !== undefined && !units.has(unit) && (units.size > 0 || unit !== scaleOf(null).unit);
    const here = shown.filter((s) => unit === undefined || scaleOf(s.now.metric).unit === unit);
    const lines = here.map((s) => ({
      name: s.key, colour: `--a${s.colour}`, dashed: s.dashed, stepped: key === "quality",
    }));
    const values = here.map((s) => [
      s.points.map((p) => p.t - sessions.now_s),
      s.points.map((p) => (p[key] === null ? null : p[key] * scale)),
    ]);
    chart.show(lines, values, window_s, false);
  }
}

/** In one line: how many, under what policy, and what the two arms of a comparison get. */
function summary(active) {
  const policy = `Policy: ${sessions.policy}${sessions.ab === null ? "" : `, ${format(100 * sessions.ab)} % of sessions weighed for comparison`}.`;
  if (active.length === 0) return policy;
  const managed = active.filter((s) => s.now.regime === "minerva").length;
  const parts = [`${active.length} ${active.length === 1 ? "session" : "sessions"}, ${managed} under Minerva. ${policy}`];
  const mean = (arm, key) => {
    const values = active.filter((s) => s.now.arm === arm && s.now[key] !== null).map((s) => s.now[key]);
    return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  };
  const scales = active.map((s) => scaleOf(s.now.metric));
  // A mean over several measures is none.
  const one = scales.every((scale) => scale.unit === scales[0].unit);
  const unit = scales[0].unit ? ` ${scales[0].unit}` : "";
  const qoe = (arm) => (one ? `${format(mean(arm, "qoe"), scales[0].digits)}${unit}` : "in several measures");
  for (const arm of Object.keys(ARMS)) {
    const count = active.filter((s) => s.now.arm === arm).length;
    if (count) {
      parts.push(`In the ${ARMS[arm]}: ${count}, mean QoE ${qoe(arm)}, mean rate ${format(mbps(mean(arm, "rate_bps")), 2)} Mbit/s.`);
    }
  }
  return parts.join(" ");
}

/** One row per session, kept as long as the session is, so that focus stays where it is. */
function rows(all) {
  const body = byId("rows");
  const kept = new Map([...body.children].map((row) => [/** @type {HTMLElement} */ (row).dataset.key, row]));
  const wanted = all.map((session) => {
    const row = kept.get(session.key) ?? newRow(session);
    fillRow(row, session);
    return row;
  });
  if (wanted.length !== body.children.length || wanted.some((row, i) => row !== body.children[i])) {
    body.replaceChildren(...wanted);
  }
}

const NUMBERS = ["Rate", "Weight", "Buffer", "Rung", "Quality", "QoE", "Stalls"];

function newRow(session) {
  const row = make("tr");
  row.dataset.key = session.key;
  row.dataset.id = session.now.id;
  const head = make("th", "", undefined, { scope: "row" });
  const pick = make("button", "pick", undefined, { type: "button" });
  const swatch = make("i", session.dashed ? "swatch dashed" : "swatch");
  swatch.style.setProperty("--c", `var(--a${session.colour})`);
  pick.append(swatch, make("span"));
  pick.addEventListener("click", () => {
    session.shown = !session.shown;
    draw();
  });
  head.append(pick, make("span", "note"));
  const by = make("td", "by");
  by.append(make("span"), make("span", "note"));
  row.append(head, by, ...NUMBERS.map((name) => make("td", "num", "", { "data-name": name })));
  return row;
}

function fillRow(row, session) {
  const now = session.now;
  row.className = session.ended ? "ended" : "";
  const [head, by, ...cells] = row.children;
  const pick = head.firstElementChild;
  pick.setAttribute("aria-pressed", String(session.shown));
  pick.title = session.shown ? "Take its lines off the charts" : "Draw its lines";
  set(pick.lastElementChild, now.title || "no title");
  set(head.lastElementChild, [now.id.slice(0, 8) || "no session id", now.peer, now.carrier, state(session)].filter(Boolean).join(" · "));
  set(by.firstElementChild, REGIMES[now.regime] ?? now.regime ?? "–");
  set(by.lastElementChild, [now.why, ARMS[now.arm], now.abr].filter(Boolean).join(", "));
  const scale = scaleOf(now.metric);
  // Points go without saying.
  const unit = scale.unit === "dB" ? "\u00a0dB" : "";
  const quality = (value) => format(value, scale.digits) + (value === null ? "" : unit);
  const texts = [
    format(mbps(now.rate_bps), 2), format(now.weight, 2), format(now.buffer_s, 1),
    now.rung === null ? "–" : [now.rung + 1, now.rungs].filter((n) => n !== null).join(" of "),
    quality(now.quality), quality(now.qoe), `${format(now.stalled_s, 1)} (${now.stalls})`,
  ];
  texts.forEach((text, i) => set(cells[i], text));
}

function state({ ended, now }) {
  if (ended) return "ended";
  if (now.hidden) return "hidden";
  return now.pace === 0 ? "paused" : "";
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
