// A call of three pages in one Chromium, through `airlane call serve`.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  airlane, freePort, joinRoom, launchWithCamera, selectedPair, shownFrames, startCallServer, withoutUdp,
} from "../calls.mjs";
import { whyNoBrowser } from "../chromium.mjs";

const skip = whyNoBrowser() ?? (process.env.AIRLANE_URL ? "the server under test is another one" : false);
/** How long a busy machine may take for one step, ms. */
const STEP_MS = 60_000;
const NAMES = ["Ann Lee", "Bob", "Chloé"];
/** Frames that must be shown of everybody after the first ones: a video that stands still shows none. */
const MORE_FRAMES = 20;

let server, browser, people;
before(async () => {
  if (skip) return;
  // VP8 takes the least of the processor.
  server = await startCallServer({ args: ["--codec", "vp8", "--max-bitrate", "1500", "--status", "127.0.0.1:0", "--quiet"] });
  browser = await launchWithCamera();
  people = [];
  for (const name of NAMES) people.push(await joinRoom(browser, `${server.url}/room`, { name }));
});
after(async () => {
  await browser?.close();
  assert.equal(await server?.stop() ?? 0, 0, "the server stops gracefully");
});

/** Waits until `check` is true of what a page shows of the others. */
async function until(page, what, check) {
  const end = Date.now() + STEP_MS;
  for (;;) {
    const shown = await shownFrames(page);
    if (check(shown)) return shown;
    if (Date.now() > end) assert.fail(`${what}: ${JSON.stringify(shown)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

test("everybody sees the others, and their videos move", { skip }, async () => {
  for (const [i, { page }] of people.entries()) {
    const others = NAMES.filter((_, of) => of !== i);
    const first = await until(page, "the others are shown", (shown) =>
      others.every((name) => shown.some((of) => of.name === name && of.frames > 0)));
    const frames = Object.fromEntries(first.map((of) => [of.name, of.frames]));
    await until(page, "their videos move", (shown) =>
      others.every((name) => shown.some((of) => of.name === name && of.frames >= frames[name] + MORE_FRAMES)));
  }
});

test("a microphone that is off is shown to the others", { skip }, async () => {
  await people[0].page.locator("#microphone").click();
  const tile = people[1].page.locator(".tile:not(.own)", { hasText: NAMES[0] });
  await tile.locator(".state", { hasText: "muted" }).waitFor({ timeout: STEP_MS });
});

test("people are told of their connections", { skip }, async () => {
  const { page } = people[0];
  await page.locator("#details").click();
  const reason = page.locator(".tile.own .reason", { hasText: /kbit\/s|Mbit\/s/u });
  await reason.waitFor({ timeout: STEP_MS });
});

test("operators see everybody's rates over time", { skip }, async () => {
  const page = await browser.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(server.status);
  for (const name of NAMES) {
    const row = page.locator("tbody tr", { hasText: name });
    await row.locator("svg path.up[d*='L']").waitFor({ state: "attached", timeout: STEP_MS });
    assert.match(await row.locator("td.num").nth(1).innerText(), /^\d+\.\d+$/, "a rate of the uplink");
  }
  const metrics = await (await fetch(new URL("metrics", server.status))).text();
  assert.equal(metrics.match(/^airlane_call_participant_up_bps\{/gm)?.length ?? 0, NAMES.length);
  assert.deepEqual(faults, []);
  await page.close();
});

/** Frames that a page has sent by encoding, the lowest first. */
const sentFrames = (page) => page.evaluate(async () => {
  const { video } = window.airlane.connection;
  const reports = [...(await video.getStats()).values()].filter((of) => of.type === "outbound-rtp");
  return ["l", "h"].map((rid) => reports.find((of) => of.rid === rid)?.framesSent ?? 0);
});

test("a video that nobody gets is not sent, until somebody comes", { skip }, async () => {
  const { page } = await joinRoom(browser, `${server.url}/alone`, { name: "Dora" });
  const active = () => page.evaluate(() => window.airlane.connection?.video?.getParameters().encodings.map((of) => of.active) ?? []);
  const became = async (what, wanted) => {
    const end = Date.now() + STEP_MS;
    while (String(await active()) !== String(wanted)) {
      if (Date.now() > end) assert.fail(`${what}: ${await active()}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  await became("nobody is there", [false, false]);
  const before = await sentFrames(page);
  const { page: other } = await joinRoom(browser, `${server.url}/alone`, { name: "Emil" });
  await until(other, "who waited is shown", (shown) => shown.some((of) => of.name === "Dora" && of.frames >= MORE_FRAMES));
  const after = await sentFrames(page);
  assert.ok(after[0] > before[0] || after[1] > before[1], `${before} ${after}`);
  for (const of of [page, other]) await of.context().close();
});

test("who leaves is no longer shown", { skip }, async () => {
  await people[2].page.locator("#leave").click();
  for (const { page } of people.slice(0, 2)) {
    await until(page, "one is left", (shown) => shown.length === 1);
  }
});

test("a room with a key takes those who were invited", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "airlane-room-"));
  const key = join(folder, "room.key");
  writeFileSync(key, "k".repeat(32), { mode: 0o600 });
  const closed = await startCallServer({ args: ["--codec", "vp8", "--room-key", key, "--quiet"] });
  try {
    const invite = (room) => execFileSync(airlane(), ["call", "invite", "--room-key", key, `${closed.url}/${room}`]).toString().trim();
    const stranger = await browser.newPage();
    await stranger.goto(`${closed.url}/team?name=Eve&join&token=${new URL(invite("other")).searchParams.get("token")}`);
    await stranger.getByText("takes an invitation").waitFor({ timeout: STEP_MS });
    await stranger.close();
    const guests = [];
    for (const name of ["Ada", "Ben"]) guests.push((await joinRoom(browser, invite("team"), { name })).page);
    await until(guests[0], "the other guest is shown", (shown) => shown.some((of) => of.name === "Ben" && of.frames > 0));
    for (const guest of guests) await guest.context().close();
  } finally {
    await closed.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

const noTurn = skip || (spawnSync("turnserver", ["--version"]).error ? "no turnserver on the PATH: Debian's coturn" : false);

test("who cannot send to the server joins through a TURN server", { skip: noTurn }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "airlane-turn-"));
  const secret = join(folder, "secret");
  writeFileSync(secret, "s3cret\n", { mode: 0o600 });
  const port = await freePort();
  const turn = spawn("turnserver", ["-n", "--no-tls", "--no-dtls", "--no-cli", "--listening-ip=127.0.0.1", `--listening-port=${port}`,
    "--relay-ip=127.0.0.1", "--allow-loopback-peers", "--use-auth-secret", "--static-auth-secret=s3cret", "--realm=test",
    `--pidfile=${join(folder, "pid")}`, "--log-file=stdout"], { cwd: folder, stdio: "ignore" });
  const relayed = await startCallServer({ args: ["--codec", "vp8", "--turn", `turn:127.0.0.1:${port}?transport=tcp`, "--turn-secret", secret, "--quiet"] });
  /** Lets a page send through relays alone. */
  const relayAlone = () => {
    const Original = RTCPeerConnection;
    window.RTCPeerConnection = class extends Original {
      constructor(config) {
        super({ ...config, iceTransportPolicy: "relay" });
      }
    };
  };
  try {
    const { page } = await joinRoom(browser, `${relayed.url}/room`, { name: "Far", prepare: [relayAlone] });
    const { page: near } = await joinRoom(browser, `${relayed.url}/room`, { name: "Near" });
    await until(page, "the near one is shown", (shown) => shown.some((of) => of.frames > 0));
    await until(near, "the far one is shown", (shown) => shown.some((of) => of.name === "Far" && of.frames > 0));
    for (const of of [page, near]) await of.context().close();
  } finally {
    await relayed.stop();
    turn.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("pages have no faults", { skip }, () => {
  for (const { faults } of people) assert.deepEqual(faults, []);
});

test("marks for a cell that a browser did not ask for do not disturb it", { skip }, async () => {
  for (const { page } of people) await page.close();
  const marking = await startCallServer({ args: ["--codec", "vp9", "--max-bitrate", "800", "--pdu-sets", "--quiet"] });
  const names = ["Dana", "Eve"];
  const marked = [];
  for (const name of names) marked.push(await joinRoom(browser, `${marking.url}/room`, { name }));
  for (const { page } of marked) {
    await until(page, "their video moves", (shown) => shown.some((of) => of.frames >= MORE_FRAMES));
  }
  for (const { faults } of marked) assert.deepEqual(faults, []);
  assert.equal(await marking.stop(), 0, "the server stops gracefully");
});

test("pages without UDP hold their call over TCP", { skip }, async () => {
  const args = ["--codec", "vp8", "--max-bitrate", "800", "--status", "127.0.0.1:0", "--quiet"];
  const blocked = await startCallServer({ args });
  const names = ["Fay", "Gil"];
  const guests = [];
  try {
    for (const name of names) {
      guests.push(await joinRoom(browser, `${blocked.url}/room`, { name, prepare: [withoutUdp] }));
    }
    for (const { page } of guests) {
      await until(page, "their video moves", (shown) => shown.some((of) => of.frames >= MORE_FRAMES));
      const { bytes, ...pair } = await selectedPair(page);
      assert.deepEqual(pair, { protocol: "tcp", tcpType: "active", remoteProtocol: "tcp" });
      assert.ok(bytes > 10_000, `${bytes} bytes`);
    }
    const status = await (await fetch(new URL("status", blocked.status))).json();
    assert.deepEqual(status.rooms[0].participants.map((of) => of.transport), ["tcp", "tcp"]);
    // A browser may make one from each of its interfaces.
    assert.ok(status.tcp_connections >= names.length, `${status.tcp_connections} connections`);
    for (const { faults } of guests) assert.deepEqual(faults, []);
  } finally {
    for (const { context } of guests) await context.close();
    assert.equal(await blocked.stop(), 0, "the server stops gracefully");
  }
});
