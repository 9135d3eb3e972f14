// Four browsers behind one link: starts the server, the link and the browsers, lets them play, and
// writes what the browsers saw, which `airlane report` judges and draws. `make browsers` runs it;
// docs/guide/browsers.md describes the file.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, hostname } from "node:os";
import { join, resolve as absolute } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { launch, openPage, whyNoBrowser } from "./chromium.mjs";
import { freeUdpPort, ownJson, startReady } from "./processes.mjs";
import { adminJson, HOST, startServer } from "./server.mjs";
import { SIZES, storyTitles } from "./titles.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What the server is told under each scheme. */
const SCHEMES = { plain: ["--policy", "plain"], minerva: ["--policy", "max-min"] };
/** Browsers without a graphics card draw with the processors: what they show is small. */
const VIEWPORT = { width: 480, height: 270 };
/** What the server is told of players that all go by our rule: its normalisation simulates them. */
const OUR_PLAYERS = ["--abr", "robust-mpc", "--player-buffer", "40"];
/** Seconds of video beyond the run's: nobody comes to the end, with a buffer of 40 s and a chunk. */
const SPARE_S = 48;

const { values: given } = parseArgs({
  options: {
    airlane: { type: "string", default: join(root, "target/release/airlane") },
    out: { type: "string", default: join(root, "out/browsers") },
    /** A folder of titles; without one, four are made, of `size`, and kept in `made`. */
    titles: { type: "string" },
    made: { type: "string" },
    "length-s": { type: "string" },
    /** Of titles that are made, so much is packed, and its chunks are repeated; without it, all. */
    "packed-s": { type: "string" },
    /** dash.js's own rules waste less of a link by chunks of 2 s than of 4 (docs/guide/browsers.md). */
    "chunk-s": { type: "string", default: "2" },
    size: { type: "string", default: "720p25" },
    players: { type: "string", default: "4" },
    /** Rules of the players, in turn: mpc, bola, dynamic. */
    abr: { type: "string", default: "mpc" },
    schemes: { type: "string", default: Object.keys(SCHEMES).join(",") },
    "duration-s": { type: "string", default: "60" },
    /** Of 2, 3, 4 and 6 s the one where chance decides least (docs/guide/browsers.md). */
    "stagger-s": { type: "string", default: "3" },
    /** The link's capacity: constant (10e6 unless given), or a recording from a place in it on. */
    "rate-bps": { type: "string" },
    trace: { type: "string" },
    "trace-mean-bps": { type: "string" },
    "trace-offset-s": { type: "string" },
    "rtt-s": { type: "string", default: "0.02" },
    queue: { type: "string", default: "pie" },
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
  link: { ...capacity(), rtt_s: number("rtt-s"), queue: given.queue },
};
for (const scheme of setup.schemes) {
  if (!SCHEMES[scheme]) refuse(`--schemes ${scheme}: expected some of ${Object.keys(SCHEMES).join(", ")}`);
}
if (!SIZES[given.size]) refuse(`--size ${given.size}: expected one of ${Object.keys(SIZES).join(", ")}`);

const missing = whyNoBrowser();
if (missing) refuse(`The story of four browsers needs a browser: ${missing}`);
const length_s = given["length-s"] === undefined ? setup.duration_s + SPARE_S : number("length-s");
const packed_s = given["packed-s"] === undefined ? length_s : number("packed-s");
const folder = given.titles
  ?? await storyTitles(given.airlane, given.made ?? given.out, { size: given.size, length_s, chunk_s: number("chunk-s"), packed_s });
const began = new Date();
const tables = new Map(), runs = [];
for (let round = 0; round < setup.repeat; round++) {
  for (const scheme of setup.schemes) {
    const run = { scheme, round, ...await play(scheme) };
    const cpu = `${Math.round(run.cpu * 100)} % of the processors`;
    console.error(`${scheme}, round ${round + 1} of ${setup.repeat}: ${setup.players} browsers, ${setup.duration_s} s, ${cpu}`);
    runs.push(run);
  }
}
write();

function write() {
  const { version } = JSON.parse(readFileSync(new URL("node_modules/dashjs/package.json", import.meta.url), "utf8"));
  const beside = join(given.out, "tables");
  rmSync(beside, { recursive: true, force: true });
  mkdirSync(beside, { recursive: true });
  for (const [name, table] of tables) writeFileSync(join(beside, `${name}.json`), `${JSON.stringify(table)}\n`);
  const file = join(given.out, "browsers.json");
  writeFileSync(file, `${JSON.stringify({
    format: "airlane-browsers", version: 1, began: began.toISOString(),
    command: `node tests/browser/story.mjs ${process.argv.slice(2).join(" ")}`.trim(),
    host: { name: hostname(), cpus: cpus().length }, dashjs: version, setup, runs,
  })}\n`);
  console.log(file);
}

/** What the link carries, by the names that its settings have. */
function capacity() {
  const optional = (name) => (given[name] === undefined ? {} : { [name.replaceAll("-", "_")]: number(name) });
  if (given.trace === undefined) {
    for (const name of ["trace-mean-bps", "trace-offset-s"]) {
      if (given[name] !== undefined) refuse(`--${name} ${given[name]}: expected --trace FILE beside it`);
    }
    return { rate_bps: 10e6, ...optional("rate-bps") };
  }
  if (given["rate-bps"] !== undefined) refuse("--rate-bps beside --trace: expected one of them");
  if (!existsSync(given.trace)) refuse(`--trace ${given.trace}: there is no such file`);
  return { trace: absolute(given.trace), trace_offset_s: 0, ...optional("trace-mean-bps"), ...optional("trace-offset-s") };
}

/** Bad input: one message, and no results. */
function refuse(message) {
  console.error(message);
  process.exit(2);
}

/** The options of `airlane link` for this story. */
function linkArguments(listen, target) {
  const { rtt_s, queue, ...capacity } = setup.link;
  const settings = Object.entries({ ...capacity, "queue.kind": queue });
  return [
    // Granted or not: the link says so, and the record has how busy the machine was.
    "link", "udp", listen, target, "--quiet", "--realtime", "10", "--both-directions", `rtt_s=${rtt_s}`,
    ...settings.flatMap(([key, value]) => ["--down", `${key}=${value}`]),
  ];
}

/** One run: all browsers behind one link, for so long from the first one's beginning. */
async function play(scheme) {
  const running = [];
  try {
    const about = setup.abr.every((rule) => rule === "mpc") ? OUR_PLAYERS : [];
    const served = await startServer(given.airlane, folder, ["--list-titles", "--foreign-manifests", ...SCHEMES[scheme], ...about]);
    const { url, direct, spki, resolve } = served;
    running.push({ stop: served.close });
    const { titles } = await adminJson(served, "/airlane/titles");
    const managed = titles.filter((t) => t.table);
    if (managed.length === 0) throw new Error(`no title of ${folder} has a quality table`);
    for (const { name, table } of managed) {
      if (!tables.has(name)) tables.set(name, await ownJson(`https://${direct}${table}`));
    }
    // Starting a browser takes more of the machine than playing: all run before the first plays.
    const port = await freeUdpPort(), quic = `${HOST}:${port}`;
    const players = [];
    for (let i = 0; i < setup.players; i++) {
      const browser = await launch({ quic, spki, resolve });
      running.push({ stop: () => browser.close() });
      const title = managed[i % managed.length], abr = setup.abr[i % setup.abr.length];
      const player = { ...await openPage(browser, { viewport: VIEWPORT }), title, abr, sid: crypto.randomUUID(), quic, url };
      players.push(player);
      await player.page.goto(`${url}/airlane/player`, { waitUntil: "networkidle" });
    }
    // A trace begins with the link.
    running.push(await startReady(given.airlane, linkArguments(`127.0.0.1:${port}`, direct), [/^ready:.*:(\d+)\b/m]));
    const start_ms = Date.now(), busy = processorTimes();
    const opening = players.map(async (player, i) => {
      await wait(start_ms + i * setup.stagger_s * 1e3 - Date.now());
      await open(player);
    });
    await Promise.all(opening);
    const first_ms = (await recordOf(players[0])).began_ms;
    await wait(first_ms + setup.duration_s * 1e3 - Date.now());
    const cpu = busy();
    const seen = await Promise.all(players.map((player) => read(player, first_ms, served)));
    return { cpu, link_s: (first_ms - start_ms) / 1e3, players: seen };
  } finally {
    // The link first, then the browsers, then the server.
    for (const program of running.reverse()) await program.stop();
  }
}

/** A browser plays a title over a new connection through the link; the page comes past it. */
async function open({ page, title, abr, sid, quic, url }) {
  const asked = { title: title.name, media: `https://${quic}`, abr, sid, muted: "1", bare: "1" };
  await page.goto(`${url}/airlane/player?${new URLSearchParams(asked)}`);
  await page.waitForFunction(() => globalThis.airlane?.record);
}

/** What a player recorded, and by this machine's clock when it began to. */
function recordOf({ page }) {
  return page.evaluate(() => {
    const record = JSON.parse(JSON.stringify(globalThis.airlane.record));
    return { record, began_ms: performance.timeOrigin + performance.now() - record.now_s * 1e3 };
  });
}

/**
 * What a player saw, and what the server says of it. Where a link is dead for seconds browsers give
 * connections up, and players ask again: it is a fault only if they do not, which they tell.
 */
async function read(player, first_ms, served) {
  const { record, began_ms } = await recordOf(player);
  const { now_s, sessions } = await adminJson(served, `/airlane/sessions?sid=${player.sid}`);
  const { title, abr, sid, faults } = player;
  const carriers = sessions.map((s) => s.carrier);
  if (carriers.join() !== "h3") throw new Error(`${title.name} came over ${carriers.join() || "nothing"}, not over h3`);
  const { faults: own, decisions: _, ...seen } = record;
  const isLoad = (fault) => fault.startsWith("Failed to load resource: net::");
  return {
    title: title.name, abr, sid, metric: title.metric, // The first one is read twice: it began when it did.
    began_s: Math.max(0, began_ms - first_ms) / 1e3,
    ...seen, faults: [...own, ...faults.filter((f) => !isLoad(f))], failed_loads: faults.filter(isLoad), server: { now_s, sessions },
  };
}

/** Starts to count; called again, the share of the processors' time that was used since. */
function processorTimes() {
  const times = () => cpus().reduce(([busy, all], { times: t }) => {
    const sum = t.user + t.nice + t.sys + t.irq + t.idle;
    return [busy + sum - t.idle, all + sum];
  }, [0, 0]);
  const [busy, all] = times();
  return () => {
    const [busyNow, allNow] = times();
    return (busyNow - busy) / Math.max(1, allNow - all);
  };
}
