// Calls of pages of one Chromium through half-duplex links, each page behind one of its own (`--links each`) or all
// behind one (`--links shared`), with Plum and without, in pairs whose order alternates. Prints a line of JSON per call:
// what was received, shown and frozen, and what the links carried. Ends with 3 where the processor is the bottleneck.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { airlane, freePort, joinRoom, launchWithCamera, shownFrames, startCallServer } from "./calls.mjs";
import { FRAME_RATE, writeCamera } from "./camera.mjs";
import { whyNoBrowser } from "./chromium.mjs";

const { values } = parseArgs({ options: {
  pairs: { type: "string", default: "12" }, "rate-mbps": { type: "string", default: "2" },
  codec: { type: "string", default: "av1" }, links: { type: "string", default: "each" },
  people: { type: "string", default: "3" },
  "settle-s": { type: "string", default: "45" }, "measure-s": { type: "string", default: "25" },
} });
const pairs = Number(values.pairs), rateMbps = Number(values["rate-mbps"]), people = Number(values.people);
const settleMs = Number(values["settle-s"]) * 1000, measureMs = Number(values["measure-s"]) * 1000;

/** One way of the link, s, and its queue, s. */
const DELAY_S = 0.02, QUEUE_S = 0.3;
/** How long everybody may take to see everybody, ms. */
const START_MS = 60_000;
/**
 * Share of the camera's frames that must be shown without a bottleneck, and of the time in which the server may see one
 * there: else the processor is one, and what controllers find of the link is not known.
 */
const MIN_SHOWN = 0.8, MAX_FALSE_BOTTLENECK = 0.2;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Keeps a page's connections, so that their counts can be read, and has them send to a link in front of the server. */
const prepareConnections = ({ server, link }) => {
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

/** Counts of a page's received video, summed over the others. */
const received = (page) => page.evaluate(async () => {
  const sums = { bytes: 0, frames: 0, freezes: 0, frozenS: 0 };
  for (const connection of window.kept.filter((of) => of.connectionState === "connected")) {
    for (const report of (await connection.getStats()).values()) {
      if (report.type !== "inbound-rtp" || report.kind !== "video") continue;
      sums.bytes += report.bytesReceived;
      sums.frames += report.framesDecoded ?? 0;
      sums.freezes += report.freezeCount ?? 0;
      sums.frozenS += report.totalFreezesDuration ?? 0;
    }
  }
  return sums;
});

/** A half-duplex link to `target`; `carried` has it carried in each second, Mbit/s. */
async function startLink(target) {
  const bytes = Math.round((rateMbps * 1e6 / 8) * (QUEUE_S / 2));
  const settings = [`rate_bps=${rateMbps * 1e6}`, `delay_s=${DELAY_S}`, `queue.limit_bytes=${bytes}`];
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
  return { address, carried, stop };
}

/** Waits until everybody sees everybody. */
async function untilSeen(pages) {
  const end = Date.now() + START_MS;
  for (const page of pages) {
    for (;;) {
      const shown = await shownFrames(page);
      if (shown.filter((of) => of.frames > 0).length === pages.length - 1) break;
      if (Date.now() > end) throw new Error(`not everybody is seen: ${JSON.stringify(shown)}`);
      await sleep(250);
    }
  }
}

/** Sums of all pages. */
async function counts(pages) {
  const sums = { bytes: 0, frames: 0, freezes: 0, frozenS: 0 };
  for (const of of await Promise.all(pages.map(received))) for (const key of Object.keys(sums)) sums[key] += of[key];
  return sums;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

/** Mean of a rate of those that have it, Mbit/s; null: nobody has. */
function meanMbps(statuses, key) {
  const known = statuses.map((of) => of[key]).filter((bps) => bps !== null);
  return known.length > 0 ? mean(known) / 1e6 : null;
}

/** A call: `scheme` is on or off, or none without the link and without Plum. */
async function call(browser, scheme) {
  const listen = `127.0.0.1:${await freePort()}`;
  const count = scheme === "none" ? 0 : values.links === "each" ? people : 1;
  const links = [];
  for (let n = 0; n < count; n += 1) links.push(await startLink(listen));
  const server = await startCallServer({ listen, args: [
    "--codec", values.codec, "--plum", scheme === "on" ? "on" : "off", "--status", "127.0.0.1:0", "--quiet",
  ] });
  const contexts = [];
  try {
    const pages = [];
    for (let n = 0; n < people; n += 1) {
      const { page, context } = await joinRoom(browser, `${server.url}/room`, {
        name: `p${n}`, prepare: [prepareConnections, { server: listen, link: links[n % count]?.address ?? null }],
      });
      pages.push(page);
      contexts.push(context);
    }
    await untilSeen(pages);
    await sleep(settleMs);
    const [before, began] = [await counts(pages), Date.now()];
    const statuses = [];
    while (Date.now() < began + measureMs) {
      await sleep(1000);
      const { rooms } = await (await fetch(new URL("status", server.status))).json();
      statuses.push(...rooms.flatMap((room) => room.participants));
    }
    const [after, seconds] = [await counts(pages), (Date.now() - began) / 1000];
    const carried = (way) => links.reduce((sum, link) =>
      sum + mean(link.carried.filter(({ at }) => at > began + 1000).map((of) => of[way])), 0);
    return {
      scheme, rate_mbps: count > 0 ? rateMbps : null, links: count, codec: values.codec, seconds,
      received_mbps: ((after.bytes - before.bytes) * 8) / seconds / 1e6,
      shown_fps: (after.frames - before.frames) / seconds / (people * (people - 1)),
      freezes: after.freezes - before.freezes, frozen_s: after.frozenS - before.frozenS,
      up_mbps: count > 0 ? carried("up") : null, down_mbps: count > 0 ? carried("down") : null,
      held_share: mean(statuses.map((of) => Number(of.state !== "natural"))),
      // Of one participant on average, as the server knows it.
      bottleneck_share: mean(statuses.map((of) => Number(of.capacity_bps !== null))),
      capacity_mbps: meanMbps(statuses, "capacity_bps"),
      up_estimate_mbps: meanMbps(statuses, "up_estimate_bps"), down_estimate_mbps: meanMbps(statuses, "down_estimate_bps"),
      down_loss: mean(statuses.map((of) => of.down_loss)),
    };
  } finally {
    for (const context of contexts) await context.close();
    await server.stop();
    for (const link of links) await link.stop();
  }
}

const why = whyNoBrowser();
if (why) {
  console.error(why);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "airlane-camera-"));
const camera = join(folder, "camera.y4m");
writeCamera(camera);
const browser = await launchWithCamera([`--use-file-for-fake-video-capture=${camera}`]);
const tell = (of) => console.log(JSON.stringify(of));
try {
  const control = await call(browser, "none");
  tell(control);
  if (control.shown_fps < MIN_SHOWN * FRAME_RATE) {
    console.error(`not measurable: without a bottleneck ${control.shown_fps.toFixed(1)} frames/s are shown of ${FRAME_RATE}`);
    process.exitCode = 3;
  } else if (control.bottleneck_share > MAX_FALSE_BOTTLENECK) {
    const share = (100 * control.bottleneck_share).toFixed();
    console.error(`not measurable: without a bottleneck the server sees one for ${share} % of the time`);
    process.exitCode = 3;
  } else {
    for (let pair = 0; pair < pairs; pair += 1) {
      for (const scheme of pair % 2 ? ["on", "off"] : ["off", "on"]) tell({ pair, ...await call(browser, scheme) });
    }
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
