// What the server said of its sessions, put together from its answers. Pure.

/** Sessions keep their place for so many seconds after the server has dropped them. */
const LINGER_S = 8;
/** Colours of the style sheet; further sessions take them again, dashed. */
const COLOURS = 8;
/** Longest history, in points. */
const MOST_POINTS = 600;

const FIELDS = ["t", "rate_bps", "weight", "buffer_s", "quality", "qoe"];

/** Players that name no session have an empty id; then there is one per connection. */
const keyOf = ({ connection, id }) => id || `connection ${connection}`;

/**
 * @typedef {object} Session
 * @property {string} key what tells it from the others
 * @property {any} now what the server says of it
 * @property {Record<string, number | null>[]} points
 * @property {number} colour
 * @property {boolean} dashed
 * @property {boolean} shown whether the charts have it
 * @property {boolean} ended
 * @property {number} heard_s when the server last named it
 */

export class Sessions {
  /** The server's clock at its last answer, seconds. */
  now_s = /** @type {number | null} */ (null);
  /** How the server shares its rate. */
  policy = /** @type {string | null} */ (null);
  /** In a comparison: the share of sessions that is weighed. */
  ab = /** @type {number | null} */ (null);
  /** The time of the newest point: what to ask for next comes after it. */
  since = 0;
  /** @type {Map<string, Session>} */
  #byKey = new Map();

  /** Takes an answer of `/airlane/sessions`. */
  heard({ now_s, policy, ab, sessions }) {
    if (this.now_s !== null && now_s < this.now_s) {
      // The server was started anew.
      this.#byKey.clear();
      this.since = 0;
    }
    this.now_s = now_s;
    this.policy = policy;
    this.ab = ab;
    for (const now of sessions) {
      const session = this.#byKey.get(keyOf(now)) ?? this.#new(now);
      session.now = now;
      session.heard_s = now_s;
      session.ended = false;
      for (const point of now.history) {
        if (point[0] > (session.points.at(-1)?.t ?? -Infinity)) {
          session.points.push(Object.fromEntries(FIELDS.map((name, i) => [name, point[i] ?? null])));
        }
        this.since = Math.max(this.since, point[0]);
      }
      session.points.splice(0, Math.max(0, session.points.length - MOST_POINTS));
    }
    for (const [key, session] of this.#byKey) {
      session.ended = session.heard_s < now_s;
      if (now_s - session.heard_s > LINGER_S) this.#byKey.delete(key);
    }
  }

  /** All sessions, the oldest first. */
  list() {
    return [...this.#byKey.values()];
  }

  #new(now) {
    const taken = this.list().map((s) => s.colour + (s.dashed ? COLOURS : 0));
    let place = 0;
    while (taken.includes(place)) place += 1;
    const session = {
      key: keyOf(now), now, points: [], colour: place % COLOURS, dashed: place >= COLOURS,
      shown: true, ended: false, heard_s: 0,
    };
    this.#byKey.set(session.key, session);
    return session;
  }
}
