// How a session fares, in figures and over time: the player's view and the server's.
import { Chart } from "/airlane/assets/charts.js";
import { scaleOf } from "/airlane/assets/scales.js";
import { byId, format, make, mbps } from "/airlane/assets/ui.js";
import { RULES } from "./options.js";

/** Longest time that the charts show, seconds, and the shortest. */
const MOST_S = 600, LEAST_S = 60;

/** What the server does for a session. */
const REGIMES = { minerva: "Minerva", plain: "equal shares", unmanaged: "not managed" };

const STATES = {
  starting: "Starting", stalled: "Waiting for the network", ready: "Press play", paused: "", playing: "",
  ended: "", failed: "",
};

export class Dashboard {
  #began = performance.now() / 1e3;
  /** @type {{t: number, buffer_s: number, rung_bps: number | null, throughput_bps: number | null}[]} */
  #samples = [];
  /** Points of the server's, with times on its clock. */
  #points = [];
  /** Our clock less the server's, as the quickest answer has it. */
  #offset = Infinity;
  /** @type {Record<string, HTMLElement>} */
  #facts = {};

  constructor(sid, options) {
    this.#group("Player", { buffer: "Buffer", rung: "Rung", throughput: "Measured", stalls: "Stalls" });
    this.#group("Server", { rate: "Rate", weight: "Weight", quality: "Quality", qoe: "QoE" });
    byId("session").replaceChildren("Session ", make("code", "", sid), `, ${RULES[options.abr]}`);
    const charts = byId("charts");
    const chart = (title, unit, atLeast) => new Chart(charts, { title, unit, atLeast });
    this.charts = {
      rates: chart("Rates", "Mbit/s", [0, 1]),
      buffer: chart("Buffer", "s", [0, 10]),
      weight: chart("Weight", "plain connections", [0, 2]),
      quality: new Chart(charts, { title: "Quality and QoE", ...scaleOf(null) }),
    };
  }

  /** A heading and its facts, by id. */
  #group(heading, facts) {
    const list = make("dl", "facts");
    for (const [id, name] of Object.entries(facts)) {
      const item = make("div");
      this.#facts[id] = make("dd", "", "–");
      item.append(make("dt", "", name), this.#facts[id]);
      list.append(item);
    }
    byId("facts").append(make("h3", "", heading), list);
  }

  #now() {
    return performance.now() / 1e3 - this.#began;
  }

  /** What the player sees. */
  looked(seen) {
    const { buffer_s, rung_bps, throughput_bps } = seen;
    this.#samples.push({ t: this.#now(), buffer_s, rung_bps, throughput_bps });
    if (this.#samples.length > MOST_S) this.#samples.shift();
    this.#set("buffer", `${format(buffer_s, 1)} s`);
    this.#set("rung", rung_bps === null ? "–" : seen.fetched ?? "–",
      rung_bps === null ? "" : `${format(mbps(rung_bps), 2)} Mbit/s${seen.shown && seen.shown !== seen.fetched ? `, ${seen.shown} on screen` : ""}`);
    this.#set("throughput", throughput_bps === null ? "–" : `${format(mbps(throughput_bps), 2)}`, throughput_bps === null ? "" : "Mbit/s");
    this.#set("stalls", String(seen.stalls), `${format(seen.stalled_s, 1)} s in all`);
    const wait = byId("wait"), text = STATES[seen.state];
    wait.hidden = !text;
    if (wait.textContent !== text) wait.textContent = text;
    this.#draw();
  }

  /**
   * What the server says of this session.
   * @returns {number | undefined} the time of its newest point
   */
  heard({ now_s, sessions }) {
    const session = sessions[0];
    if (!session) return undefined;
    this.#offset = Math.min(this.#offset, this.#now() - now_s);
    for (const [t, rate, weight, , quality, qoe] of session.history) {
      if (t > (this.#points.at(-1)?.t ?? -Infinity)) this.#points.push({ t, rate, weight, quality, qoe });
    }
    this.#points.splice(0, Math.max(0, this.#points.length - MOST_S));
    this.#set("rate", format(mbps(session.rate_bps), 2), "Mbit/s");
    this.#set("weight", format(session.weight, 2), REGIMES[session.regime] ?? "");
    const scale = scaleOf(session.metric);
    const unit = (value) => (value === null ? "" : scale.unit);
    this.charts.quality.rescale(scale);
    this.#set("quality", format(session.quality, scale.digits), unit(session.quality));
    this.#set("qoe", format(session.qoe, scale.digits), unit(session.qoe));
    return session.history.at(-1)?.[0];
  }

  #set(id, text, small = "") {
    const fact = this.#facts[id];
    fact.replaceChildren(text, ...(small ? [make("small", "", small)] : []));
  }

  #draw() {
    const now = this.#now();
    const window_s = Math.min(Math.max(now, LEAST_S), MOST_S);
    const ours = (name, scale = 1) => [
      this.#samples.map((s) => s.t - now), this.#samples.map((s) => (s[name] === null ? null : s[name] * scale))];
    const theirs = (name, scale = 1) => [
      this.#points.map((p) => p.t + this.#offset - now), this.#points.map((p) => (p[name] === null ? null : p[name] * scale))];
    const { rates, buffer, weight, quality } = this.charts;
    rates.show([
      { name: "rung", colour: "--a0", stepped: true }, { name: "measured", colour: "--a2", dashed: true },
      { name: "server", colour: "--a5" },
    ], [ours("rung_bps", 1e-6), ours("throughput_bps", 1e-6), theirs("rate", 1e-6)], window_s);
    buffer.show([{ name: "buffer", colour: "--a0" }], [ours("buffer_s")], window_s);
    weight.show([{ name: "weight", colour: "--a5" }], [theirs("weight")], window_s);
    quality.show([
      { name: "quality", colour: "--a0", stepped: true }, { name: "QoE so far", colour: "--a1" },
    ], [theirs("quality"), theirs("qoe")], window_s);
  }
}
