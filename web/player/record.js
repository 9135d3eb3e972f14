// What a session was like, as the browser saw it: chunks, stalls, the wait for the first picture.
// The page shows some of it; tests and the story read all of it.

/**
 * A chunk that arrived whole. Times are seconds since the record began, places seconds of video.
 * @typedef {object} Chunk
 * @property {"video" | "audio"} kind
 * @property {number} rung by rising rate, from 0
 * @property {number} bps rate of the rung as the manifest has it
 * @property {number} place_s where the chunk begins in the video
 * @property {number} duration_s
 * @property {number} requested_s
 * @property {number} arrived_s
 * @property {number | null} sent_s when the browser's network sent the request, and
 * @property {number | null} received_s when it had the last byte; `null` where it does not tell
 * @property {number} bytes
 */
/** @typedef {{from_s: number, to_s: number | null, place_s: number}} Stall `to_s` is null while it lasts. */

/** A wait shorter than a picture lasts is none: dash.js has them where it changes what it holds. */
const PICTURE_S = 0.04;
/** Chunks that wait for what the network noted of them, at most. */
const UNTOLD = 16;

export class Record {
  /** @type {Chunk[]} */
  chunks = [];
  /** @type {Stall[]} */
  stalls = [];
  /** Bytes of what came from the title's server before the first chunk: manifest, headers. */
  opening_bytes = /** @type {number[]} */ ([]);
  /** What our rule decided, and from what. */
  decisions = /** @type {import("./mpc-rule.js").Decision[]} */ ([]);
  /** Wait for the first picture, seconds; `null` while it lasts. */
  startup_s = /** @type {number | null} */ (null);
  /** Faults of the player, in words. */
  faults = /** @type {string[]} */ ([]);
  #video;
  #began_ms = performance.now();

  /**
   * A stall is a wait in the middle: neither the start-up nor a seek nor a pause.
   * @param {HTMLVideoElement} video
   */
  constructor(video) {
    this.#video = video;
    const over = () => {
      const last = this.stalls.at(-1);
      if (!last || last.to_s !== null) return;
      last.to_s = this.now_s;
      if (last.to_s - last.from_s < PICTURE_S) this.stalls.pop();
    };
    video.addEventListener("playing", () => {
      this.startup_s ??= this.now_s;
      over();
    });
    for (const event of ["seeking", "pause", "ended"]) video.addEventListener(event, over);
    video.addEventListener("waiting", () => {
      if (this.startup_s === null || video.seeking || video.ended || this.stalled) return;
      this.stalls.push({ from_s: this.now_s, to_s: null, place_s: video.currentTime });
    });
  }

  /** Seconds since the record began. */
  get now_s() {
    return this.at(performance.now());
  }

  /** A time of `performance.now()`, milliseconds, as seconds of this record. */
  at(ms) {
    return (ms - this.#began_ms) / 1e3;
  }

  /** Whether the picture stands for want of video. */
  get stalled() {
    const last = this.stalls.at(-1);
    return last !== undefined && last.to_s === null;
  }

  /** Seconds of all stalls. */
  get stalled_s() {
    return this.stalls.reduce((sum, s) => sum + (s.to_s ?? this.now_s) - s.from_s, 0);
  }

  /** All of it as plain data, with what the video element counts. */
  toJSON() {
    const quality = this.#video.getVideoPlaybackQuality();
    return {
      now_s: this.now_s, place_s: this.#video.currentTime, ended: this.#video.ended,
      startup_s: this.startup_s, stalls: this.stalls, chunks: this.chunks,
      opening_bytes: this.opening_bytes,
      decisions: this.decisions, faults: this.faults,
      frames: quality.totalVideoFrames, dropped_frames: quality.droppedVideoFrames,
    };
  }
}

/**
 * Records the chunks that dash.js fetches.
 * @param {Record} record
 * @param {any} player a dash.js MediaPlayer
 * @param {any} events `dashjs.MediaPlayer.events`
 */
export function recordDash(record, player, events) {
  // What the browser's network noted of a request comes after the player has its answer.
  const untold = [];
  new PerformanceObserver((list) => {
    for (const { name, requestStart, responseEnd } of list.getEntries()) {
      // Browsers do not tell of servers that do not allow it.
      const i = untold.findIndex(({ address }) => address === withoutCmcd(name));
      if (i < 0 || requestStart === 0) continue;
      const [{ chunk }] = untold.splice(i, 1);
      [chunk.sent_s, chunk.received_s] = [record.at(requestStart), record.at(responseEnd)];
    }
  }).observe({ type: "resource" });
  /** Dates of dash.js on the page's clock. */
  const at = (date) => record.at(date.getTime() - performance.timeOrigin);
  player.on(events.FRAGMENT_LOADING_COMPLETED, ({ request, error }) => {
    if (error || request.type !== "MediaSegment" || !["video", "audio"].includes(request.mediaType)) return;
    if (record.chunks.length === 0) record.opening_bytes = cameBefore(request);
    const { bandwidth, id } = request.representation;
    const ladder = [...player.getRepresentationsByType(request.mediaType)]
      .sort((a, b) => a.bandwidth - b.bandwidth);
    record.chunks.push({
      kind: request.mediaType, rung: ladder.findIndex((r) => r.id === id), bps: bandwidth,
      place_s: request.startTime, duration_s: request.duration,
      requested_s: at(request.startDate), arrived_s: at(request.endDate), sent_s: null, received_s: null,
      bytes: request.bytesLoaded,
    });
    untold.push({ chunk: record.chunks.at(-1), address: withoutCmcd(request.url) });
    if (untold.length > UNTOLD) untold.shift();
  });
}

/** An address without what CMCD adds to it, which changes on the way from the player to the network. */
function withoutCmcd(url) {
  const address = new URL(url, location.href);
  address.searchParams.delete("CMCD");
  return address.href;
}

/** Bytes of what came whole from the server of a request before it was made, in order. */
function cameBefore({ url, startDate }) {
  const server = new URL(url, location.href).origin;
  const asked_ms = startDate.getTime() - performance.timeOrigin;
  return performance.getEntriesByType("resource")
    .filter((e) => new URL(e.name).origin === server && e.responseEnd <= asked_ms && e.encodedBodySize > 0)
    .sort((a, b) => a.startTime - b.startTime)
    .map((e) => e.encodedBodySize);
}
