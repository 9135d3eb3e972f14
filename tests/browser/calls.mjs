// A conference server, and pages of one Chromium that take part in its calls.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
 * @param {{args?: string[], listen?: string, http?: string}} options further arguments, the address of pages over HTTPS and
 *   of media, and that of pages over HTTP
 */
export async function startCallServer({ args = [], listen = "127.0.0.1:0", http = "127.0.0.1:0" } = {}) {
  const home = mkdtempSync(join(tmpdir(), "airlane-calls-"));
  const child = spawn(airlane(), ["call", "serve", "--listen", listen, "--http", http, ...args], {
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
  const stop = (signal = "SIGTERM") => new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.once("exit", (code) => {
      rmSync(home, { recursive: true, force: true });
      resolve(code);
    });
    child.kill(signal);
  });
  return { url: `http://localhost:${port}`, status, stop, child };
}

/** A browser whose pages have cameras and microphones. */
export async function launchWithCamera(args = []) {
  return chromium.launch({ executablePath: findChromium(), args: [...FLAGS, ...CALL_FLAGS, ...args], headless: true });
}

/** A browser of its own processes, which can be stopped and killed: `signal` is sent to all of them. */
export async function launchApart(args = []) {
  const of = await chromium.launchServer({ executablePath: findChromium(), args: [...FLAGS, ...CALL_FLAGS, ...args], headless: true });
  const browser = await chromium.connect(of.wsEndpoint());
  // Playwright gives a browser a process group of its own.
  const signal = (name) => process.kill(-of.process().pid, name);
  const close = async () => {
    if (of.process().exitCode !== null || of.process().signalCode !== null) return;
    const ended = once(of.process(), "exit");
    signal("SIGCONT");
    signal("SIGKILL");
    await ended;
  };
  return { browser, signal, close };
}

/**
 * A half-duplex link of `airlane link` to `target`; `carried` has what it carried in each second, Mbit/s.
 * @param {string} target address of the server's media
 * @param {{rateMbps: number, delayS: number, queueS: number}} of one way's delay, and the time that fills both queues
 */
export async function startLink(target, { rateMbps, delayS, queueS }) {
  const bytes = Math.round((rateMbps * 1e6 / 8) * (queueS / 2));
  const settings = [`rate_bps=${rateMbps * 1e6}`, `delay_s=${delayS}`, `queue.limit_bytes=${bytes}`];
  const child = spawn(airlane(), ["link", "udp", "127.0.0.1:0", target, "--half-duplex",
    ...settings.flatMap((setting) => ["--both-directions", setting])], { stdio: ["ignore", "pipe", "inherit"] });
  const carried = [];
  const address = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`the link ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const ready = line.match(/^ready: (\S+)/);
      if (ready) resolve(ready[1]);
      const [, up, down] = line.match(/up ([\d.]+) of .*; down ([\d.]+) of /) ?? [];
      if (down) carried.push({ at: Date.now(), up: Number(up), down: Number(down) });
    });
  });
  const stop = () => new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.once("exit", resolve);
    child.kill("SIGTERM");
  });
  return { address, carried, stop, child };
}

/** Keeps a page's connections, so that their counts can be read, and has them send to a link in front of the server, if there is one. */
export const prepareConnections = ({ server, link }) => {
  const Original = RTCPeerConnection;
  const port = (address) => address.split(":")[1];
  window.kept = [];
  window.RTCPeerConnection = class extends Original {
    constructor(...args) {
      super(...args);
      window.kept.push(this);
    }

    setRemoteDescription({ type, sdp }) {
      const there = `127.0.0.1 ${port(server)} typ`;
      return super.setRemoteDescription({ type, sdp: link ? sdp.replaceAll(there, `127.0.0.1 ${port(link)} typ`) : sdp });
    }
  };
};

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
