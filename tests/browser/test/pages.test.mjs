// The pages in a real browser: titles, playing by our rule, the live page, and what goes wrong.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, openPage, whyNoBrowser } from "../chromium.mjs";
import { cmcdOf, keysOf } from "../cmcd.mjs";
import { adminJson, generatedTitles, jsonOf, serverUnderTest, startServer } from "../server.mjs";
import { History, nextRung, settingOfTable } from "../../../web/player/mpc.js";

const skip = whyNoBrowser() ?? false;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let server, browser;
before(async () => {
  if (skip) return;
  server = await serverUnderTest();
  browser = await launch(server);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** A page of the server under test; a fault of its scripts fails the test. */
function open(path, expectFaults = false) {
  return openAt(server.url + path, expectFaults);
}

async function openAt(address, expectFaults = false) {
  const { page, context, faults } = await openPage(browser);
  const requests = [];
  page.on("request", (r) => requests.push({
    path: new URL(r.url()).pathname, cmcd: cmcdOf(r.url(), r.headers()), body: r.postData(),
  }));
  await page.goto(address);
  const close = async () => {
    await context.close();
    if (!expectFaults) assert.deepEqual(faults, []);
  };
  return { page, requests, close };
}

const record = (page) => page.evaluate(() => JSON.parse(JSON.stringify(globalThis.airlane.record)));
const text = (page, selector) => page.locator(selector).innerText();

/** Waits until so many seconds of video are held and the picture moves. */
const playing = (page, chunks = 5) => page.waitForFunction((n) => {
  const { record } = globalThis.airlane ?? {};
  const video = document.querySelector("video");
  return record && record.chunks.filter((c) => c.kind === "video").length >= n && video.currentTime > 1;
}, chunks);

test("the player page lists the titles with their posters", { skip }, async () => {
  const { page, close } = await open("/airlane/player");
  const { titles } = await jsonOf(page, "/airlane/titles");
  await page.waitForFunction((n) => document.querySelectorAll("#cards a").length === n, titles.length);
  for (const title of titles) {
    const card = page.locator("#cards a", { hasText: title.title }).first();
    assert.match(await card.getAttribute("href"), new RegExp(`title=${title.name}(&|$)`));
  }
  const posters = titles.filter((t) => t.poster).length;
  await page.waitForFunction((n) =>
    [...document.querySelectorAll("img.poster")].filter((i) => i.naturalWidth > 0).length === n, posters);
  await close();
});

test("picking a title plays it by our MPC, with CMCD, and the server knows the session", { skip }, async () => {
  const { page, requests, close } = await open("/airlane/player");
  const { titles } = await jsonOf(page, "/airlane/titles");
  const title = titles.find((t) => t.table);
  await page.locator("#cards a", { hasText: title.title }).first().click();
  await playing(page);
  const sid = await page.evaluate(() => globalThis.airlane.sid);
  assert.match(sid, UUID);
  if (server.quic) {
    const carrier = await page.evaluate(() => performance.getEntriesByType("resource").map((r) => r.nextHopProtocol));
    assert.deepEqual([...new Set(carrier)], ["h3"]);
  }
  const seen = await record(page);
  const chunks = seen.chunks.filter((c) => c.kind === "video");
  assert.equal(chunks[0].rung, 0, "the first chunk is the lowest rung's");

  const media = requests.filter((r) => r.cmcd?.keys.ot === "v");
  assert.ok(media.length >= 5);
  for (const { cmcd } of media) {
    assert.equal(cmcd.mode, "query");
    assert.deepEqual([cmcd.keys.sid, cmcd.keys.cid, cmcd.keys["com.airlane-abr"]], [sid, title.name, "robust-mpc"]);
    assert.ok(Number(cmcd.keys.bl) >= 0 && Number(cmcd.keys.br) > 0);
  }

  // What the network noted comes a moment after the chunk; dates are of whole milliseconds.
  for (const c of chunks.slice(0, -1)) {
    const times = [c.requested_s, c.sent_s, c.received_s, c.arrived_s];
    assert.ok(times.every((t, i) => t !== null && (i === 0 || times[i - 1] <= t + 0.002)), `${times}`);
  }

  // Each decision is the one that the pure function makes from what had arrived by then.
  const table = await jsonOf(page, title.table);
  const setting = settingOfTable(table, "vmaf" in table.rungs[0].quality ? "vmaf" : Object.keys(table.rungs[0].quality)[0]);
  const history = new History();
  let last_rung = null;
  for (const [i, c] of chunks.entries()) {
    const decision = seen.decisions.findLast((d) => d.next_chunk === i && d.last_rung === last_rung);
    assert.equal(nextRung(setting, { next_chunk: i, buffer_s: decision.buffer_s, last_rung, history }), c.rung, `chunk ${i}`);
    history.push(c.bytes * 8 / (c.arrived_s - c.requested_s));
    last_rung = c.rung;
  }

  await page.waitForFunction(() => !document.getElementById("facts").innerText.match(/Rate\s+–/));
  let sessions = [];
  while (!sessions[0]?.history.length) {
    await page.waitForResponse((r) => r.url().includes("/airlane/session?token="));
    ({ sessions } = await adminJson(server, `/airlane/sessions?sid=${sid}`));
  }
  assert.equal(sessions.length, 1);
  assert.deepEqual([sessions[0].title, sessions[0].abr, sessions[0].rungs], [title.name, "robust-mpc", title.rungs.length]);
  assert.ok(sessions[0].buffer_s > 0);
  await close();
});

test("a chunk that the player gives up is given up", { skip }, async () => {
  const { page, close } = await open("/airlane/player");
  const held = new Promise((resolve) => {
    // Its answer does not come.
    page.route(({ pathname }) => /\b0*6\.m4s$/.test(pathname), (route) => resolve(route.request()));
  });
  await page.goto(`${server.url}/airlane/player?title=${await anyTitle()}&muted`);
  const chunk = await held;
  await page.waitForFunction(() => document.querySelector("video").currentTime > 0);
  const givenUp = page.waitForEvent("requestfailed", (request) => request === chunk);
  const kind = (request) => cmcdOf(request.url(), request.headers())?.keys.ot;
  const next = page.waitForRequest((request) => request.url().includes(".m4s") && kind(request) === kind(chunk));
  await page.evaluate(() => { document.querySelector("video").currentTime = 40; });
  const first = await Promise.race([givenUp, next]);
  assert.ok(first === chunk, "it asks for another before it has given up the first");
  assert.equal(chunk.failure().errorText, "net::ERR_ABORTED");
  await page.waitForFunction(() => document.querySelector("video").currentTime > 41);
  await close();
});

test("dash.js's own rules play too, and say what they are", { skip }, async () => {
  for (const abr of ["bola", "dynamic"]) {
    const { page, requests, close } = await open(`/airlane/player?title=${await anyTitle()}&muted&abr=${abr}&metric=vmaf`);
    await playing(page, 3);
    assert.deepEqual((await record(page)).decisions, []);
    const { keys } = requests.find((r) => r.cmcd?.keys.ot === "v").cmcd;
    assert.deepEqual([keys["com.airlane-abr"], keys["com.airlane-metric"]], ["bola", "vmaf"]);
    await close();
  }
});

test("CMCD goes in headers where that is asked for, and version 2 reports events", { skip }, async () => {
  const sid = "6e2fb550-c457-4e9a-8f00-0123456789ab";
  const { page, requests, close } = await open(
    `/airlane/player?title=${await anyTitle()}&muted&cmcd=header&cmcdv=2&sid=${sid}`);
  await playing(page, 3);
  await page.evaluate(() => document.querySelector("video").pause());
  await page.waitForRequest((r) => r.url().endsWith("/airlane/cmcd") && /sta=a/.test(r.postData() ?? ""));
  const { mode, keys } = requests.find((r) => r.cmcd?.keys.ot === "v").cmcd;
  assert.deepEqual([mode, keys.v, keys.sid, keys["com.airlane-abr"]], ["header", "2", sid, "robust-mpc"]);
  const posts = requests.filter((r) => r.path === "/airlane/cmcd").map((r) => keysOf(r.body.trim()));
  assert.ok(posts.every((p) => p.sid === sid && p.v === "2"));
  await close();
});

test("the live page shows who watches, and how to start when nobody does", { skip }, async () => {
  const player = await open(`/airlane/player?title=${await anyTitle()}&muted`);
  await playing(player.page, 3);
  const sid = await player.page.evaluate(() => globalThis.airlane.sid);
  const live = await openAt(`${server.admin}/airlane/`);
  const row = live.page.locator(`tr[data-id="${sid}"]`).first();
  await row.waitFor();
  assert.match(await row.innerText(), /robust-mpc/);
  await live.page.waitForFunction(() => document.querySelectorAll("#charts canvas").length === 5);
  const pick = row.locator("button");
  await pick.press("Enter");
  await row.locator('button[aria-pressed="false"]').waitFor();
  await live.close();
  await player.close();

  const { page, context } = await openPage(browser);
  await page.route("**/airlane/sessions*", (route) =>
    route.fulfill({ json: { now_s: 1, policy: "max-min", ab: null, sessions: [] } }));
  await page.goto(`${server.admin}/airlane/`);
  await page.locator("#empty").waitFor({ state: "visible" });
  assert.match(await text(page, "#empty"), /Open a title/);
  await page.locator("#titles a").first().waitFor();
  await context.close();
});

test("what goes wrong is said", { skip }, async () => {
  const title = await anyTitle();
  const alert = async (path, expected, setUp = async () => {}) => {
    const { page, context } = await openPage(browser);
    await setUp(page);
    await page.goto(path.startsWith("/") ? server.url + path : path);
    await page.waitForFunction((pattern) => new RegExp(pattern).test(document.getElementById("alert").innerText), expected);
    await context.close();
  };
  await alert("/airlane/player?title=nonsense", "no title “nonsense”");
  await alert("/airlane/player?mpd=/nothing/here.mpd", "cannot be fetched");
  if (server.quic) await alert("/airlane/player?mpd=https://elsewhere.test/a.mpd", "own server has, not what https://elsewhere.test has");
  await alert("/airlane/player", "does not answer", (page) => page.route("**/airlane/titles", (r) => r.abort()));
  const lose = (page) => page.route(/\/airlane\/sessions?\?/, (r) => r.abort());
  await alert(`/airlane/player?title=${title}&muted`, "server is lost", lose);
  await alert(`${server.admin}/airlane/`, "server is lost", lose);
  await alert(`/airlane/player?title=${title}&muted`, "rule goes by rates", (page) => page.route("**/quality.json*", (r) => r.abort()));
});

test("a signed title plays by the link that its operator has, and by no other", { skip: skip || !process.env.AIRLANE_BIN }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "airlane-sign-"));
  const key = join(folder, "key");
  writeFileSync(key, "k".repeat(32), { mode: 0o600 });
  const signed = await startServer(process.env.AIRLANE_BIN, await generatedTitles(), ["--sign-key", key]);
  const own = await launch(signed);
  try {
    const { titles } = await adminJson(signed, "/airlane/titles");
    const { search } = new URL(titles.find((t) => t.table).player);
    const { page, context, faults } = await openPage(own);
    await page.goto(`${signed.url}/airlane/player${search}&muted`);
    await playing(page, 3);
    assert.deepEqual(faults, []);
    assert.equal(await page.locator("#titles").isVisible(), false);
    await page.goto(`${signed.url}/airlane/player${search.replace(/.$/, "")}&muted`);
    await page.waitForFunction(() => /not signed/.test(document.getElementById("alert").innerText));
    await context.close();
  } finally {
    await own.close();
    await signed.close();
    rmSync(folder, { recursive: true });
  }
});

test("a session goes on over another connection when the first is lost", { skip: skip || !process.env.AIRLANE_BIN }, async () => {
  // Server and browser are this test's own: sessions are counted, and all connections end.
  const alone = await startServer(process.env.AIRLANE_BIN, await generatedTitles(), ["--list-titles"]);
  const own = await launch(alone);
  try {
    const { titles } = await adminJson(alone, "/airlane/titles");
    const { page, context, faults } = await openPage(own);
    // What shows the session: pictures, sound and headers, and the reports of CMCD's version 2.
    const fetched = [], reported = [];
    page.on("request", (r) => {
      const { pathname } = new URL(r.url());
      const list = pathname.endsWith(".m4s") ? fetched : pathname === "/airlane/cmcd" ? reported : [];
      list.push(r.headers()["airlane-session"] ?? null);
    });
    const token = () => page.waitForResponse((r) => "airlane-session" in r.headers());
    const [first] = await Promise.all([
      token(), page.goto(`${alone.url}/airlane/player?title=${titles.find((t) => t.table).name}&muted&cmcdv=2`),
    ]);
    await playing(page, 3);
    const seen = async () => {
      const { sessions } = await adminJson(alone, "/airlane/sessions");
      return { sessions, begun: await begunSessions(alone) };
    };
    const before = await seen();
    assert.deepEqual([before.begun, before.sessions.length], [1, 1]);

    assert.deepEqual(faults, []);
    await loseConnections(context);
    const held = (await record(page)).chunks.length;
    // What is asked for from now on goes over a new connection.
    await page.evaluate(() => { document.querySelector("video").currentTime = 50; });
    await page.waitForFunction((n) => globalThis.airlane.record.chunks.length >= n + 2, held);
    const after = await seen();
    assert.deepEqual([after.begun, after.sessions.length], [1, 1]);
    assert.ok(after.sessions[0].connection > before.sessions[0].connection, "the connection was lost");

    const shown = await first.headerValue("airlane-session");
    // Until the token has come, what is asked for beside it has none.
    const since = fetched.indexOf(shown);
    assert.ok(since > 0 && since < 6, `${fetched}`);
    assert.deepEqual([...new Set(fetched.slice(since))], [shown]);
    assert.equal(reported.at(-1), shown);
    // What was on its way when the connection was lost may have failed: it was asked for again.
    assert.deepEqual(faults.filter((f) => !f.startsWith("Failed to load resource: net::ERR_")), []);
    await context.close();
  } finally {
    await own.close();
    await alone.close();
  }
});

/** How many sessions the server has seen begin. */
async function begunSessions(of) {
  const figures = await (await fetch(`${of.admin}/metrics`)).text();
  return Number(figures.match(/^airlane_sessions_total (\d+)$/m)[1]);
}

/** Has Chromium end all connections of a context, as it does when the network changes. */
async function loseConnections(context) {
  const page = await context.newPage();
  await page.goto("chrome://net-internals/#sockets");
  await page.locator("#sockets-view-flush-button").click();
  await page.close();
}

async function anyTitle() {
  const { page, context } = await openPage(browser);
  await page.goto(`${server.url}/airlane/player`);
  const { titles } = await jsonOf(page, "/airlane/titles");
  await context.close();
  return titles.find((t) => t.table).name;
}
