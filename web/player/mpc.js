// RobustMPC (Yin, Jindal, Sekar, Sinopoli, SIGCOMM 2015) as crates/abr/src/mpc.rs decides it: pure
// functions that know neither a page nor a player. A test compares them with the Rust code, state
// by state; docs/design/abr.md has the equations.

/** @typedef {{buffer_cap_s: number, chunk_overhead_s: number}} Player How a player keeps its buffer. */
/** @typedef {{beta: number, gamma: number, chunkwise: boolean}} Qoe The constants of equation 1. */
/**
 * A video as decisions see it. Lists are by chunk, then rung.
 * @typedef {object} Setting
 * @property {number} rungs
 * @property {number} chunks
 * @property {number} chunk_s seconds per chunk
 * @property {number[][]} bits
 * @property {number[][]} quality
 * @property {number[][]} position gamma times the quality that smoothness is taken from
 * @property {number} beta penalty per second of rebuffering
 * @property {Player} player
 */
/**
 * A player at the moment of a request.
 * @typedef {object} State
 * @property {number} next_chunk
 * @property {number} buffer_s
 * @property {number | null} last_rung `null` before the first chunk
 * @property {History} history
 */

/**
 * dash.js asks for the next chunk some 10 ms after the last one came, not 0.6 s as the player of
 * Minerva's section 6.2: a plan that counted on that pause would shy away from rungs it can afford.
 */
export const PLAYER = { buffer_cap_s: 40, chunk_overhead_s: 0 };
/** Minerva, section 8.1.3. */
export const QOE = { beta: 25, gamma: 2.5, chunkwise: false };
/** Chunks to look ahead. */
export const HORIZON = 5;
/** Plans whose values differ by less than this are equal, and the lower first rung wins. */
const TIE = 1e-6;
/** Samples that are kept, and those that a prediction averages over. */
const KEPT = 8, WINDOW = 5;
/** A quality curve rises by at least this share of its range over its length. */
const MIN_RISE = 1e-4;

/** Throughput of the last chunks, and how wrong its prediction was for each. */
export class History {
  /** @type {number[]} */
  #throughput_bps = [];
  /** @type {number[]} */
  #error = [];

  /** Adds the throughput of a chunk; what is no finite number above zero is left out. */
  push(bps) {
    if (!(Number.isFinite(bps) && bps > 0)) return;
    const predicted = this.harmonicMean();
    this.#error.push(predicted === null ? 0 : Math.abs(predicted - bps) / bps);
    this.#throughput_bps.push(bps);
    if (this.#throughput_bps.length > KEPT) {
      this.#throughput_bps.shift();
      this.#error.shift();
    }
  }

  /** Harmonic mean of the last samples, bits per second; `null` before the first. */
  harmonicMean() {
    const last = this.#throughput_bps.slice(-WINDOW);
    return last.length ? last.length / last.reduce((sum, t) => sum + 1 / t, 0) : null;
  }

  /** Largest error of the last predictions. */
  maxError() {
    return this.#error.slice(-WINDOW).reduce((m, e) => Math.max(m, e), 0);
  }
}

/** The throughput that MPC counts on, bits per second; `null` before any sample. */
export function prediction(history, robust = true) {
  const mean = history.harmonicMean();
  return mean === null || !robust ? mean : mean / (1 + history.maxError());
}

/**
 * The rung that the player asks for: the lowest for its first chunk, MPC's from then on.
 * @param {Setting} setting
 * @param {State} state
 * @returns {number}
 */
export function nextRung(setting, state, robust = true) {
  const rate = prediction(state.history, robust);
  return state.last_rung === null || rate === null ? 0 : bestPlan(setting, state, rate).rung;
}

/**
 * The best plan of the next chunks at a constant rate: its first rung and the sum of equation 1.
 *
 * Depth first over all plans. A plan is given up once even the best qualities of all that is left,
 * without a stall or a change, would not matter any more.
 *
 * @param {Setting} setting
 * @param {State} state
 * @param {number} rate_bps
 * @returns {{rung: number, value: number}}
 */
export function bestPlan(setting, state, rate_bps) {
  const { rungs, beta } = setting;
  const { buffer_cap_s: cap, chunk_overhead_s } = setting.player;
  const depth = Math.min(HORIZON, setting.chunks - state.next_chunk);
  const perBit = 1 / rate_bps;
  const gain = setting.chunk_s - chunk_overhead_s;
  /** The most that the chunks from a stage on can score. */
  const ahead = new Array(depth + 1).fill(0);
  for (let stage = depth - 1; stage >= 0; stage--) {
    ahead[stage] = ahead[stage + 1] + Math.max(...setting.quality[state.next_chunk + stage]);
  }
  /** By first rung: the best complete plan so far. */
  const bestByFirst = new Array(rungs).fill(-Infinity);
  let best = -Infinity, first = 0;

  function open(stage, buffer, from, value) {
    const chunk = state.next_chunk + stage;
    const bits = setting.bits[chunk], quality = setting.quality[chunk];
    const position = setting.position[chunk];
    for (let e = rungs - 1; e >= 0; e--) {
      if (stage === 0) first = e;
      const seconds = bits[e] * perBit;
      const stall = Math.max(seconds - buffer, 0);
      const change = from === null ? 0 : Math.abs(position[e] - from);
      const sum = value + (quality[e] - beta * stall - change);
      if (stage + 1 === depth) {
        bestByFirst[first] = Math.max(bestByFirst[first], sum);
        best = Math.max(best, sum);
      } else if (sum + ahead[stage + 1] > Math.max(bestByFirst[first], best - TIE)) {
        open(stage + 1, Math.min(Math.max(buffer - seconds, 0) + gain, cap), position[e], sum);
      }
    }
  }
  const before = state.last_rung === null || state.next_chunk === 0
    ? null : setting.position[state.next_chunk - 1][state.last_rung];
  open(0, state.buffer_s, before, 0);
  const rung = Math.max(0, bestByFirst.findIndex((v) => v > best - TIE));
  return { rung, value: bestByFirst[rung] };
}

/**
 * The tables of a title from its quality table (docs/reference/chunk-tables.md, format `airlane-chunks`).
 * @param {any} table
 * @param {string} metric such as `vmaf`
 * @param {Player} player
 * @param {Qoe} qoe
 * @returns {Setting}
 */
export function settingOfTable(table, metric, player = PLAYER, qoe = QOE) {
  if (table.format !== "airlane-chunks" || table.version !== 1) {
    throw new Error(`expected an airlane-chunks table of version 1, not ${table.format} ${table.version}`);
  }
  const sizes = table.rungs.map((r) => r.size_bytes);
  const qualities = table.rungs.map((r) => r.quality[metric]);
  if (qualities.some((q) => !q)) throw new Error(`the table has no ${metric}`);
  return setting(sizes, qualities, table.chunk_s, player, qoe);
}

/**
 * The tables of a title of which only its rates are known: chunks of even size, and a quality of
 * `100 ln(1 + r/r0) / ln(1 + rtop/r0)` for rate r over the lowest and the highest: a logarithmic
 * utility on the scale of VMAF, for which the penalties of equation 1 are meant.
 * @param {number[]} rates_bps by rung, rising
 * @param {number} chunks
 * @param {number} chunk_s
 * @returns {Setting}
 */
export function settingOfRates(rates_bps, chunks, chunk_s, player = PLAYER, qoe = QOE) {
  const scale = 100 / Math.log1p(rates_bps.at(-1) / rates_bps[0]);
  const all = (value) => new Array(chunks).fill(value);
  return setting(
    rates_bps.map((r) => all(r * chunk_s / 8)),
    rates_bps.map((r) => all(scale * Math.log1p(r / rates_bps[0]))),
    chunk_s, player, qoe,
  );
}

/** Turns lists by rung, then chunk, into what decisions read. */
function setting(sizes, qualities, chunk_s, player, qoe) {
  const rungs = sizes.length, chunks = sizes[0].length;
  const byChunk = (value) => Array.from({ length: chunks },
    (_, c) => Array.from({ length: rungs }, (_, r) => value(r, c)));
  const mean = meanCurve(sizes, qualities, chunk_s);
  return {
    rungs, chunks, chunk_s, player, beta: qoe.beta,
    bits: byChunk((r, c) => sizes[r][c] * 8),
    quality: byChunk((r, c) => qualities[r][c]),
    position: byChunk((r, c) => qoe.gamma * (qoe.chunkwise ? qualities[r][c] : mean[r])),
  };
}

/**
 * The mean curve at each rung's mean rate: mean qualities over mean rates, made monotone by the
 * running maximum and strictly rising (crates/quality/src/curve.rs).
 */
function meanCurve(sizes, qualities, chunk_s) {
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const rungs = sizes.map((list, i) => ({
    x: sum(list) * 8 / (list.length * chunk_s),
    y: sum(qualities[i]) / qualities[i].length,
  }));
  // Of two rungs with the same rate the better one counts.
  const points = [...rungs].sort((a, b) => a.x - b.x || b.y - a.y)
    .filter((p, i, all) => i === 0 || p.x !== all[i - 1].x);
  const x0 = points[0].x, y0 = points[0].y, xn = points.at(-1).x;
  const top = Math.max(...points.map((p) => p.y));
  const slope = MIN_RISE * (top > y0 ? top - y0 : 1) / Math.max(xn - x0, Number.MIN_VALUE);
  const lifted = new Map();
  let before = null;
  for (const { x, y } of points) {
    const value = before === null ? y : Math.max(y, before.y + slope * (x - before.x));
    lifted.set(x, value);
    before = { x, y: value };
  }
  return rungs.map((r) => lifted.get(r.x));
}
