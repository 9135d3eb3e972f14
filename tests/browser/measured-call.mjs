// A call of pages of one Chromium, in numbers: through half-duplex links, or without a link as a control.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, joinRoom, launchWithCamera, prepareConnections, shownFrames, startCallServer, startLink } from "./calls.mjs";
import { FRAME_RATE, writeCamera } from "./camera.mjs";

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

/**
 * A call: what was received, shown and frozen, and what its links carried.
 * @param {import("playwright-core").Browser} browser
 * @param {{scheme: "on" | "off" | "none", codec: string, people: number, rateMbps: number, links: "each" | "shared",
 *   settleMs: number, measureMs: number}} of Plum on or off, or neither it nor a link; and how long it is before it is measured
 */
export async function measuredCall(browser, { scheme, codec, people, rateMbps, links: kind, settleMs, measureMs }) {
  const listen = `127.0.0.1:${await freePort()}`;
  const count = scheme === "none" ? 0 : kind === "each" ? people : 1;
  const links = [];
  for (let n = 0; n < count; n += 1) links.push(await startLink(listen, { rateMbps, delayS: DELAY_S, queueS: QUEUE_S }));
  const server = await startCallServer({ listen, args: [
    "--codec", codec, "--plum", scheme === "on" ? "on" : "off", "--status", "127.0.0.1:0", "--quiet",
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
      scheme, rate_mbps: count > 0 ? rateMbps : null, links: count, codec, seconds,
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

/** The reason why a machine on which a call without a link was like this measures nothing; null: there is none. */
export function whyNotMeasurable(control) {
  if (control.shown_fps < MIN_SHOWN * FRAME_RATE) {
    return `not measurable: without a bottleneck ${control.shown_fps.toFixed(1)} frames/s are shown of ${FRAME_RATE}`;
  }
  if (control.bottleneck_share > MAX_FALSE_BOTTLENECK) {
    const share = (100 * control.bottleneck_share).toFixed();
    return `not measurable: without a bottleneck the server sees one for ${share} % of the time`;
  }
  return null;
}

/** Lets `use` have a browser whose camera shows pictures that need their bitrate. */
export async function withMovingCamera(use) {
  const folder = mkdtempSync(join(tmpdir(), "airlane-camera-"));
  const camera = join(folder, "camera.y4m");
  writeCamera(camera);
  const browser = await launchWithCamera([`--use-file-for-fake-video-capture=${camera}`]);
  try {
    return await use(browser);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
