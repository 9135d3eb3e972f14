// MPC as a rule of dash.js 5: the glue between the player's events and mpc.js, which decides.
import { History, nextRung } from "./mpc.js";

/**
 * What the rule needs of a title and of the player.
 * @typedef {object} Env
 * @property {() => number} buffer_s seconds of video ahead of the picture
 * @property {() => number} time_s where the picture is
 * @property {(decision: Decision) => void} decided told of each decision
 * @property {(representations: any[]) => import("./mpc.js").Setting} setting the tables of a
 *   title, for the ladder that the manifest has
 */

/** @typedef {{next_chunk: number, buffer_s: number, last_rung: number | null, rung: number}} Decision */

/** What has been fetched so far, as the player's events tell it. */
export class Fetched {
  history = new History();
  /** @type {number | null} rung of the last chunk */
  lastRung = null;
  /** @type {number | null} the chunk after the last one; `null` after a seek */
  next = null;

  /**
   * A chunk of video arrived whole.
   * @param {{chunk: number, rung: number, bytes: number, seconds: number}} chunk
   */
  arrived({ chunk, rung, bytes, seconds }) {
    this.history.push(bytes * 8 / seconds);
    this.lastRung = rung;
    this.next = chunk + 1;
  }

  /** The viewer went elsewhere. */
  seeked() {
    this.next = null;
  }
}

/** Rungs in the order of tables: by rate. dash.js sorts by picture size first. */
export const byRate = (representations) =>
  [...representations].sort((a, b) => a.bandwidth - b.bandwidth);

/**
 * Puts our rule in the place of dash.js's own.
 * @param {any} player a dash.js MediaPlayer, not yet initialised
 * @param {any} events `dashjs.MediaPlayer.events`
 * @param {Env} env
 */
export function useMpc(player, events, env) {
  const fetched = new Fetched();
  /** @type {import("./mpc.js").Setting | null} */
  let setting = null;
  let ladder = "";

  /** The rungs that the player may choose from, and the tables for them. */
  function ladderOf(rulesContext) {
    const rungs = byRate(rulesContext.getAbrController()
      .getPossibleVoRepresentationsFilteredBySettings(rulesContext.getMediaInfo(), true));
    const ids = rungs.map((r) => r.id).join("\n");
    if (ids !== ladder) {
      ladder = ids;
      setting = env.setting(rungs);
    }
    return rungs;
  }

  function getSwitchRequest(rulesContext) {
    if (rulesContext.getMediaType() !== "video") return { representation: null };
    const rungs = ladderOf(rulesContext);
    const buffer_s = env.buffer_s();
    const next = fetched.next ?? Math.floor((env.time_s() + buffer_s + 0.01) / setting.chunk_s);
    const next_chunk = Math.max(0, Math.min(next, setting.chunks - 1));
    const state = { next_chunk, buffer_s, last_rung: fetched.lastRung };
    const rung = nextRung(setting, { ...state, history: fetched.history });
    env.decided({ ...state, rung });
    return { representation: rungs[rung], priority: 0.5, reason: { rule: "MPC", buffer_s } };
  }

  player.on(events.FRAGMENT_LOADING_COMPLETED, ({ request, error }) => {
    if (error || setting === null) return;
    if (request.mediaType !== "video" || request.type !== "MediaSegment") return;
    const ids = ladder.split("\n");
    fetched.arrived({
      chunk: Math.round(request.startTime / setting.chunk_s),
      rung: Math.max(0, ids.indexOf(request.representation.id)),
      bytes: request.bytesLoaded,
      seconds: (request.endDate - request.startDate) / 1e3,
    });
  });
  player.on(events.PLAYBACK_SEEKING, () => fetched.seeked());

  const rule = () => ({ create: () => ({ getClassName: () => "AirlaneMpc", getSwitchRequest }) });
  player.addABRCustomRule("qualitySwitchRules", "AirlaneMpc", rule);
  const off = { active: false };
  player.updateSettings({
    streaming: {
      abr: {
        rules: {
          throughputRule: off, bolaRule: off, insufficientBufferRule: off, switchHistoryRule: off,
          droppedFramesRule: off, abandonRequestsRule: off, l2ARule: off, loLPRule: off,
        },
      },
      // A chunk that was fetched stays: the plan counts on it.
      buffer: { fastSwitchEnabled: false },
    },
  });
}

/**
 * The settings that keep a buffer as the plan assumes it: dash.js asks for a chunk as long as the
 * buffer and that chunk stay below its target, the plan as long as the buffer is below the cap.
 * @param {import("./mpc.js").Player} plan
 * @param {number} chunk_s
 */
export function bufferSettings(plan, chunk_s) {
  const target = plan.buffer_cap_s + chunk_s;
  return {
    streaming: {
      buffer: {
        bufferTimeDefault: target, bufferTimeAtTopQuality: target,
        bufferTimeAtTopQualityLongForm: target,
      },
    },
  };
}
