// One title played by dash.js: settings, our rule, CMCD, and what the player measures.
import { cmcdSettings, keyInterceptor } from "./cmcd.js";
import { abortingLoader } from "./dash-abort.js";
import { PLAYER } from "./mpc.js";
import { bufferSettings, useMpc } from "./mpc-rule.js";
import { Record, recordDash } from "./record.js";
import { ServerSession } from "./server-session.js";
import { metricOf, settingFor } from "./tables.js";

/** What each of dash.js's own rules is told; the two that are missing here stay as they are. */
const OWN_RULES = {
  bola: { throughputRule: { active: false }, bolaRule: { active: true } },
  dynamic: { throughputRule: { active: true }, bolaRule: { active: true } },
};

/** Our name, for the server's simulation of a player, of the algorithm that chooses. */
const ABR_NAMES = { mpc: "robust-mpc", bola: "bola", dynamic: "bola" };

/**
 * @typedef {object} Plan what is to be played
 * @property {string} manifest absolute address
 * @property {string} cid
 * @property {string} sid
 * @property {any} table quality table or null
 * @property {{duration_s: number, chunk_s: number}} length
 * @property {import("./options.js").Options} options
 */

export class Playback {
  #player;
  #video;
  #session = new ServerSession(location.href);

  /**
   * @param {HTMLVideoElement} video
   * @param {Plan} plan
   * @param {(message: string) => void} failed told once, in words for people
   */
  constructor(video, plan, failed) {
    const { MediaPlayer } = globalThis.dashjs;
    const { options } = plan;
    const events = MediaPlayer.events;
    const player = MediaPlayer().create();
    this.#player = player;
    this.#video = video;
    /** What has happened so far. */
    this.record = new Record(video);
    player.extend("HTTPLoader", abortingLoader, true);
    player.initialize();
    player.updateSettings(cmcdSettings({
      mode: options.cmcd, version: options.version, sid: plan.sid, cid: plan.cid,
      events: new URL("/airlane/cmcd", location.href).href,
    }));
    player.addRequestInterceptor(keyInterceptor(() => ({
      "com.airlane-abr": ABR_NAMES[options.abr],
      ...(options.metric ? { "com.airlane-metric": options.metric } : {}),
      "com.airlane-rb": Math.round(this.record.stalled_s * 1e3) / 1e3,
    })));
    player.addRequestInterceptor(this.#session.show);
    player.addResponseInterceptor(this.#session.receive);
    if (options.abr === "mpc") this.#useMpc(plan, events);
    else player.updateSettings({ streaming: { abr: { rules: OWN_RULES[options.abr] } } });
    player.on(events.ERROR, ({ error }) => {
      const words = reason(error, plan.manifest);
      this.record.faults.push(words);
      failed(words);
    });
    recordDash(this.record, player, events);
    video.muted = options.muted;
    player.attachView(video);
    player.setAutoPlay(options.autoplay);
    player.attachSource(plan.manifest);
  }

  #useMpc(plan, events) {
    const metric = metricOf(plan.table, plan.options.metric);
    useMpc(this.#player, events, {
      buffer_s: () => this.buffer_s,
      time_s: () => this.#video.currentTime,
      decided: (decision) => this.record.decisions.push(decision),
      setting: (ladder) => settingFor(plan.table, metric, ladder, {
        duration_s: plan.length.duration_s || this.#player.duration(),
        chunk_s: plan.length.chunk_s || ladder[0].segmentDuration || 4,
      }),
    });
    this.#player.updateSettings(bufferSettings(PLAYER, plan.length.chunk_s));
    // The first chunk is of the lowest rung: 1 kbit/s is below any.
    this.#player.updateSettings({ streaming: { abr: { initialBitrate: { video: 1 } } } });
  }

  /** What the server tells of this session for; null before it began. */
  get token() {
    return this.#session.token;
  }

  get buffer_s() {
    const level = this.#player.getBufferLength("video");
    return Number.isFinite(level) ? level : 0;
  }

  /** How it fares now; rates in bits per second, null where nothing is known. */
  read() {
    const rung = this.#player.getCurrentRepresentationForType("video");
    const kbps = this.#player.getAverageThroughput("video");
    return {
      buffer_s: this.buffer_s,
      rung_bps: rung ? rung.bandwidth : null,
      fetched: rung && rung.height ? `${rung.height}p` : null,
      shown: this.#video.videoHeight ? `${this.#video.videoHeight}p` : null,
      throughput_bps: kbps > 0 ? kbps * 1e3 : null,
      stalls: this.record.stalls.length,
      stalled_s: this.record.stalled_s,
      state: this.#state(),
    };
  }

  #state() {
    const video = this.#video;
    if (video.ended) return "ended";
    if (this.record.stalled) return "stalled";
    if (this.record.faults.length && this.record.startup_s === null) return "failed";
    if (this.record.startup_s === null) return video.paused && video.readyState >= 2 ? "ready" : "starting";
    return video.paused ? "paused" : "playing";
  }
}

/** What went wrong, in words. */
function reason(error, manifest) {
  const codes = globalThis.dashjs.MediaPlayer.errors;
  switch (error?.code) {
    case codes.DOWNLOAD_ERROR_ID_MANIFEST_CODE:
      return `The manifest ${manifest} cannot be fetched. Is the title still there?`;
    case codes.MANIFEST_LOADER_PARSING_FAILURE_ERROR_CODE:
      return `The manifest ${manifest} is not a DASH manifest that dash.js can read.`;
    case codes.DOWNLOAD_ERROR_ID_CONTENT_CODE:
    case codes.DOWNLOAD_ERROR_ID_INITIALIZATION_CODE:
      return `A chunk cannot be fetched: ${error.data?.request?.url ?? "the server does not answer"}.`;
    case codes.CAPABILITY_MEDIASOURCE_ERROR_CODE:
      return "This browser has no Media Source Extensions, which dash.js needs.";
    default:
      return `dash.js cannot play this: ${error?.message || `error ${error?.code}`}`;
  }
}
