// What the mock knows of its sessions: from CMCD and from the bytes that it sent. Weights are made
// up; there is no transport behind them.

const GONE_AFTER_S = 12, MOST_POINTS = 600, RATE_OVER_S = 5;

export class MockSessions {
  #began = Date.now();
  #sessions = new Map();

  constructor(fakes) {
    this.fakes = fakes;
  }

  now() {
    return (Date.now() - this.#began) / 1e3;
  }

  /** A request or a report said something about a session. */
  said(keys, socket, title) {
    const sid = keys.sid;
    if (!sid) return null;
    const now = this.now();
    const session = this.#sessions.get(sid) ?? {
      id: sid, connection: this.#sessions.size + 1, peer: `${socket.remoteAddress}:${socket.remotePort}`,
      carrier: "h1", title: null, regime: "minerva", arm: null, abr: "bola", began_s: now, rung: null,
      rungs: 0, chunk: 0, buffer_s: null, pace: 1, hidden: false, rate_bps: null, weight: 2,
      quality: null, qoe: null, stalled_s: 0, stalls: 0, bytes: 0, history: [], sent: [], chunks: [],
    };
    this.#sessions.set(sid, session);
    session.seen_s = now;
    if (title) [session.title, session.rungs] = [title.name, title.rungs.length];
    if (keys["com.airlane-abr"]) session.abr = keys["com.airlane-abr"];
    if (keys.bl !== undefined && keys.ot !== "a") session.buffer_s = Number(keys.bl) / 1e3;
    if (keys.bs) session.stalls += 1;
    if (keys.sta) session.pace = keys.sta === "a" ? 0 : 1;
    if (keys.br !== undefined && (keys.ot === "v" || keys.ot === "av") && title) {
      const bps = Number(keys.br) * 1e3;
      session.rung = title.rungs.filter((r) => r.nominal_bps <= bps * 1.4).length - 1;
      session.rung = Math.max(0, session.rung);
      session.quality = title.rungs[session.rung].quality;
      session.chunk += 1;
      session.chunks.push(session.quality);
      session.qoe = session.chunks.reduce((a, b) => a + b, 0) / session.chunks.length - session.stalls;
    }
    return session;
  }

  sent(session, bytes) {
    session.bytes += bytes;
    session.sent.push([this.now(), bytes]);
  }

  /** Once a second: rates, weights, history. */
  tick() {
    const now = this.now();
    for (const [id, s] of this.#sessions) {
      if (now - s.seen_s > GONE_AFTER_S) {
        this.#sessions.delete(id);
        continue;
      }
      s.sent = s.sent.filter(([t]) => t > now - RATE_OVER_S);
      s.rate_bps = s.sent.reduce((sum, [, b]) => sum + b * 8, 0) / RATE_OVER_S;
      s.weight = Math.min(20, Math.max(0.5, s.weight + 0.3 * Math.sin(now / 7 + s.connection)));
      s.history.push([now, s.rate_bps, s.weight, s.buffer_s, s.quality, s.qoe]);
      s.history.splice(0, Math.max(0, s.history.length - MOST_POINTS));
    }
  }

  /** The answer to `GET /airlane/sessions`. */
  answer(sid, since) {
    const now_s = this.now();
    const all = [...this.#sessions.values(), ...fakes(this.fakes, now_s)];
    return {
      now_s, policy: "max-min", ab: null,
      sessions: all.filter((s) => sid === null || s.id === sid).map(({ sent, chunks, ...s }) => ({
        ...s, history: s.history.filter((p) => p[0] > since),
      })),
    };
  }
}

/** Sessions that nobody watches, for looking at the live page. */
function fakes(count, now) {
  return Array.from({ length: count }, (_, i) => {
    const at = (t) => {
      const wave = Math.sin(t / (9 + 2 * i) + i), rung = Math.round(2.5 + 2 * wave + i % 2);
      return [t, (2.5 + wave + i * 0.3) * 1e6, 2 + wave * 0.9 + i * 0.2, Math.max(0, 14 + 9 * Math.sin(t / 31 + i)),
        55 + 6 * rung, 70 + 4 * i + 3 * Math.sin(t / 60)];
    };
    const began = now - 280 + 40 * i;
    const history = Array.from({ length: Math.max(0, Math.floor(now - began)) }, (_, k) => at(Math.floor(began) + k));
    const [, rate_bps, weight, buffer_s, quality, qoe] = at(now);
    return {
      id: `fake-${i}-6e2fb550-c457-11e9`, connection: i + 20, peer: `192.0.2.${i + 1}:5${i}120`,
      carrier: i % 3 ? "h3" : "h2", title: ["Big Buck Bunny", "A harbour at dusk", "News at ten"][i % 3],
      regime: i % 4 === 3 ? "unmanaged" : "minerva", arm: i % 2 ? "cubic" : "minerva", abr: i % 2 ? "bola" : "robust-mpc",
      began_s: began, seen_s: now, rung: 2 + i % 3, rungs: 6, chunk: 7, buffer_s, pace: i === 2 ? 0 : 1,
      hidden: false, rate_bps, weight: i % 4 === 3 ? null : weight, quality: i % 4 === 3 ? null : quality,
      qoe: i % 4 === 3 ? null : qoe, stalled_s: i * 0.7, stalls: i, bytes: 1e7, history,
    };
  });
}

