// A conference server, and pages of one Chromium that take part in its calls.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { FLAGS, findChromium } from "./chromium.mjs";

/** Flags for cameras and microphones that are made up, and for calls on this machine. */
const CALL_FLAGS = [
  "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", "--allow-loopback-in-peer-connection",
  "--auto-select-desktop-capture-source=Entire screen",
];

/** How long the server may take until it serves, ms. */
const START_MS = 60_000;

/** A free port for UDP and TCP, as far as one can know. */
export const freePort = () => new Promise((resolve, reject) => {
  const listener = createServer().once("error", reject).listen(0, "127.0.0.1", () => {
    const { port } = listener.address();
    listener.close(() => resolve(port));
  });
});

/** Path of the program under test. */
export const airlane = () =>
  process.env.AIRLANE_BIN ?? new URL("../../target/release/airlane", import.meta.url).pathname;

/**
 * Starts `airlane call serve` on ports of the system's choice.
 * @param {{args?: string[], listen?: string}} options further arguments, and the address of pages over HTTPS and of media
 */
export async function startCallServer({ args = [], listen = "127.0.0.1:0" } = {}) {
  const home = mkdtempSync(join(tmpdir(), "airlane-calls-"));
  const child = spawn(airlane(), ["call", "serve", "--listen", listen, "--http", "127.0.0.1:0", ...args], {
    stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, XDG_DATA_HOME: home },
  });
  const ready = await new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => reject(new Error("the server did not start")), START_MS);
    child.stdout.on("data", (data) => {
      text += data;
      const line = text.match(/^ready: .*$/m);
      if (line) {
        clearTimeout(timer);
        resolve(line[0]);
      }
    });
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const port = ready.match(/http:\/\/127\.0\.0\.1:(\d+)\//)[1];
  const status = ready.match(/status=(http:\S+)/)?.[1] ?? null;
  const stop = () => new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.once("exit", (code) => {
      rmSync(home, { recursive: true, force: true });
      resolve(code);
    });
    child.kill("SIGTERM");
  });
  return { url: `http://localhost:${port}`, status, stop, child };
}

/** A browser whose pages have cameras and microphones. */
export async function launchWithCamera(args = []) {
  return chromium.launch({ executablePath: findChromium(), args: [...FLAGS, ...CALL_FLAGS, ...args], headless: true });
}

/** Frames shown of each person's video, by name, and its size. */
export const shownFrames = (page) => page.evaluate(() =>
  [...document.querySelectorAll(".tile:not(.own)")].map((tile) => {
    const video = tile.querySelector("video");
    return {
      name: tile.querySelector(".name").textContent,
      frames: video.getVideoPlaybackQuality().totalVideoFrames,
      width: video.videoWidth, height: video.videoHeight,
    };
  }));

/** Leaves candidates over UDP out of the answers to a page, as if the network let no UDP through. */
export const withoutUdp = () => {
  const Original = RTCPeerConnection;
  window.RTCPeerConnection = class extends Original {
    setRemoteDescription({ type, sdp }) {
      const kept = sdp.split("\r\n").filter((line) => !/^a=candidate:\S+ \d+ udp /iu.test(line));
      return super.setRemoteDescription({ type, sdp: kept.join("\r\n") });
    }
  };
};

/** Transport of a page's selected pair of candidates, and the server's candidate; `null`: there is none yet. */
export const selectedPair = (page) => page.evaluate(async () => {
  const stats = await globalThis.airlane.connection?.pc?.getStats();
  const reports = [...(stats?.values() ?? [])];
  const pair = stats?.get(reports.find((of) => of.type === "transport")?.selectedCandidatePairId);
  if (!pair) return null;
  const [local, remote] = [stats.get(pair.localCandidateId), stats.get(pair.remoteCandidateId)];
  return { protocol: local.protocol, tcpType: local.tcpType, remoteProtocol: remote.protocol, bytes: pair.bytesReceived };
});

/** Opens a page that joins a room at once; `prepare` is a function that runs in it before its scripts, and its argument. */
export async function joinRoom(browser, url, { name, viewport = { width: 1280, height: 800 }, prepare }) {
  const context = await browser.newContext({ viewport, permissions: ["camera", "microphone"] });
  if (prepare) await context.addInitScript(...prepare);
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  const target = new URL(url);
  target.searchParams.set("name", name);
  target.searchParams.set("join", "");
  await page.goto(target.href);
  return { page, context, faults };
}
