// Four browsers behind one link: starts the server, the link and the browsers, lets them play, and
// writes what the browsers saw. `make browsers` runs it; docs/browsers.md describes the file.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, hostname, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { launch, openPage, whyNoBrowser } from "./chromium.mjs";
import { playedChunks, summary } from "./measure.mjs";
import { ownJson, startReady } from "./processes.mjs";
import { HOST, startServer } from "./server.mjs";
import { storyTitles } from "./titles.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What the server is told under each scheme. */
const SCHEMES = { plain: ["--policy", "plain"], minerva: ["--policy", "max-min"] };

const { values: given } = parseArgs({
  options: {
    airlane: { type: "string", default: join(root, "target/release/airlane") },
    out: { type: "string", default: join(root, "out/browsers") },
    /** A folder of titles; without one, four are made. */
    titles: { type: "string" },
    players: { type: "string", default: "4" },
    /** Rules of the players, in turn: mpc, bola, dynamic. */
    abr: { type: "string", default: "mpc" },
    schemes: { type: "string", default: Object.keys(SCHEMES).join(",") },
    "duration-s": { type: "string", default: "150" },
    "stagger-s": { type: "string", default: "2" },
    "rate-bps": { type: "string", default: "8e6" },
    "rtt-s": { type: "string", default: "0.02" },
    "queue-bdp": { type: "string", default: "1.5" },
    repeat: { type: "string", default: "1" },
  },
});
const number = (name) => {
  const value = Number(given[name]);
  if (!(Number.isFinite(value) && value >= 0)) refuse(`--${name} ${given[name]}: expected a number of at least 0`);
  return value;
};
const setup = {
  players: number("players"), duration_s: number("duration-s"), stagger_s: number("stagger-s"),
  abr: given.abr.split(","), schemes: given.schemes.split(","), repeat: number("repeat"),
  link: { rate_bps: number("rate-bps"), rtt_s: number("rtt-s"), queue_bdp: number("queue-bdp") },
};
for (const scheme of setup.schemes) {
  if (!SCHEMES[scheme]) refuse(`--schemes ${scheme}: expected some of ${Object.keys(SCHEMES).join(", ")}`);
}

const missing = whyNoBrowser();
if (missing) refuse(`The story of four browsers needs a browser: ${missing}`);
const folder = given.titles ?? await storyTitles(given.airlane, given.out);
const began = new Date();
const runs = [];
for (let round = 0; round < setup.repeat; round++) {
  for (const scheme of setup.schemes) {
    console.error(`${scheme}, round ${round + 1} of ${setup.repeat}: ${setup.players} browsers, ${setup.duration_s} s`);
    runs.push({ scheme, round, ...await play(scheme) });
  }
}
const { version } = JSON.parse(readFileSync(new URL("node_modules/dashjs/package.json", import.meta.url), "utf8"));
mkdirSync(given.out, { recursive: true });
const file = join(given.out, "browsers.json");
writeFileSync(file, `${JSON.stringify({
  format: "airlane-browsers", version: 1, began: began.toISOString(),
  command: `node tests/browser/story.mjs ${process.argv.slice(2).join(" ")}`.trim(),
  host: { name: hostname(), cpus: cpus().length }, dashjs: version, setup, runs,
})}\n`);
console.log(file);

/** Bad input: one message, and no results. */
function refuse(message) {
  console.error(message);
  process.exit(2);
}

/** The options of `airlane link` for this story, from `listen` to `target`. */
function linkArguments(target) {
  const { rate_bps, rtt_s, queue_bdp } = setup.link;
  return [
    "link", "--listen", "127.0.0.1:0", "--target", target, "--rate-bps", String(rate_bps),
    "--rtt-s", String(rtt_s), "--queue-bdp", String(queue_bdp),
  ];
}

/** One run: all browsers behind one link, for so long. */
async function play(scheme) {
  const running = [];
  try {
    const { direct, spki, resolve, close } = await startServer(given.airlane, folder, SCHEMES[scheme]);
    running.push({ stop: close });
    const link = await startReady(given.airlane, linkArguments(direct), [/^ready:.*:(\d+)\b/m]);
    running.push(link);
    const quic = `${HOST}:${link.said[0]}`;

    const { titles } = await ownJson(`https://${direct}/airlane/titles`);
    const managed = titles.filter((t) => t.table);
    if (managed.length === 0) throw new Error(`no title of ${folder} has a quality table`);
    const players = [];
    for (let i = 0; i < setup.players; i++) {
      const title = managed[i % managed.length], abr = setup.abr[i % setup.abr.length];
      players.push(await open({ quic, spki, resolve }, title, abr, running));
      await wait(setup.stagger_s * 1e3);
    }
    await wait(setup.duration_s * 1e3);
    const seen = [];
    for (const player of players) seen.push(await read(player, direct));
    return { load: loadavg()[0], players: seen };
  } finally {
    // The browsers first, then the link, then the server.
    for (const program of running.reverse()) await program.stop();
  }
}

/** A browser of its own, with a connection of its own, that plays a title. */
async function open(server, title, abr, running) {
  const browser = await launch(server);
  running.push({ stop: () => browser.close() });
  const { page, faults } = await openPage(browser);
  const sid = crypto.randomUUID();
  const opened_ms = Date.now();
  await page.goto(`https://${server.quic}/airlane/player?${new URLSearchParams({ title: title.name, abr, sid, muted: "1" })}`);
  const protocol = await page.evaluate(() => performance.getEntriesByType("navigation")[0].nextHopProtocol);
  if (protocol !== "h3") throw new Error(`the browser speaks ${protocol}, not h3`);
  return { page, faults, title, abr, sid, opened_ms };
}

/** What a player saw, and what the server says of it. */
async function read({ page, faults, title, abr, sid, opened_ms }, direct) {
  const record = await page.evaluate(() => JSON.parse(JSON.stringify(globalThis.airlane.record)));
  const table = await ownJson(`https://${direct}${title.table}`);
  const metric = title.metric;
  const chunks = playedChunks(record, table, metric);
  const { now_s, sessions } = await ownJson(`https://${direct}/airlane/sessions?sid=${sid}`);
  return {
    title: title.name, abr, sid, metric, opened_s: (opened_ms - began.getTime()) / 1e3,
    summary: summary(record, chunks), chunks, stalls: record.stalls, decisions: record.decisions,
    faults: [...record.faults, ...faults], server: { now_s, sessions },
  };
}
