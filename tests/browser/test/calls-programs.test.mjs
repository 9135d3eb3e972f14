// Programs in a call: ffmpeg sends by WHIP with an invitation, and is seen by a page and by a receiver alone (WHEP).
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { airlane, joinRoom, launchWithCamera, shownFrames, startCallServer } from "../calls.mjs";
import { whyNoBrowser } from "../chromium.mjs";

/** How long a busy machine may take for one step, ms. */
const STEP_MS = 60_000;
const FRAMES = 20;

/** An ffmpeg that sends by WHIP: Debian's is too old, that of PyPI's imageio-ffmpeg is not. */
const ffmpeg = [new URL("../../../target/tools/ffmpeg", import.meta.url).pathname, "ffmpeg"].find((program) =>
  /\bwhip\b/u.test(spawnSync(program, ["-hide_banner", "-muxers"]).stdout ?? ""));
if (!ffmpeg && process.env.AIRLANE_STRICT === "1") throw new Error("no ffmpeg with WHIP: make setup installs it");
const skip = whyNoBrowser() ?? (process.env.AIRLANE_URL ? "the server under test is another one"
  : ffmpeg ? false : "no ffmpeg with WHIP: make setup installs it");

const SOURCES = ["-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=15", "-re", "-f", "lavfi", "-i", "sine"];
// Without B frames, which WebRTC does not take; with key frames of its own, as ffmpeg hears of nobody who needs one.
const ENCODERS = ["-c:v", "libx264", "-profile:v", "baseline", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-b:v", "300k", "-g", "30",
  "-c:a", "libopus", "-ar", "48000", "-ac", "2"];

test("ffmpeg joins by WHIP, and a page and a receiver by WHEP see it", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "airlane-whip-"));
  const key = join(folder, "room.key");
  writeFileSync(key, "k".repeat(32), { mode: 0o600 });
  const server = await startCallServer({ args: ["--room-key", key, "--quiet"] });
  const link = new URL(execFileSync(airlane(), ["call", "invite", "--room-key", key, `${server.url}/studio`]).toString().trim());
  const [room, token] = [`${server.url.replace("localhost", "127.0.0.1")}/studio`, link.searchParams.get("token")];
  const publish = (bearer, level = "error") => spawn(ffmpeg, ["-hide_banner", "-loglevel", level, ...SOURCES, ...ENCODERS,
    "-f", "whip", "-authorization", bearer, `${room}/whip?name=ffmpeg`], { stdio: ["ignore", "ignore", "inherit"] });
  let publisher, browser;
  try {
    const [code] = await once(publish("0.none", "quiet"), "exit");
    assert.notEqual(code, 0, "without an invitation it is refused");
    publisher = publish(token);
    browser = await launchWithCamera();
    const { page } = await joinRoom(browser, link.href, { name: "Ann" });
    const end = Date.now() + STEP_MS;
    const isSeen = (shown) => shown.some((of) => of.name === "ffmpeg" && of.frames >= FRAMES && of.width === 320);
    while (!isSeen(await shownFrames(page))) {
      assert.ok(Date.now() < end && publisher.exitCode === null, JSON.stringify(await shownFrames(page)));
      await sleep(200);
    }
    const report = join(folder, "report.json");
    await promisify(execFile)(airlane(), ["call", "join", `${room}/whep?token=${token}`, "--duration", "10", "--report", report, "--quiet"]);
    const [{ received }] = JSON.parse(readFileSync(report));
    const seen = received.find((of) => of.name === "ffmpeg");
    assert.ok(seen?.frames >= FRAMES && seen.audio_packets > 0, JSON.stringify(received));
    assert.equal((await shownFrames(page)).length, 1, "who receives alone is not shown");
  } finally {
    await browser?.close();
    // Asked to end, it may wait for a server that is gone by then.
    publisher?.kill("SIGKILL");
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
