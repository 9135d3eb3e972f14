// What a participant's channel carried of late, as the paths of a small chart. Pure.

/** Samples that are kept: one a second. */
export const MAX_SAMPLES = 120;

/** History of one participant: the newest sample last, at most MAX_SAMPLES. */
export class History {
  constructor() {
    this.samples = [];
  }

  /** Takes a sample: rates in bit/s; capacity and target may be null. */
  add({ up_bps: up, down_bps: down, capacity_bps: capacity, target_bps: target, state }) {
    this.samples.push({ up, down, capacity, target, state });
    if (this.samples.length > MAX_SAMPLES) this.samples.shift();
  }

  /** Highest rate that is shown, bit/s. */
  get highest() {
    return this.samples.reduce((most, { up, down, capacity }) => Math.max(most, up + down, capacity ?? 0), 1);
  }

  /** Attribute `d` of the paths by name, in a box of this size whose right edge is now. */
  paths(width, height) {
    const { samples, highest } = this;
    const x = (i) => width - (samples.length - 1 - i) * (width / (MAX_SAMPLES - 1));
    const y = (bps) => height - (bps / highest) * height;
    const point = (i, bps) => `${x(i).toFixed(1)} ${y(bps).toFixed(1)}`;
    const area = (bottom, top) => {
      if (samples.length < 2) return "";
      const over = samples.map((of, i) => point(i, top(of)));
      const back = samples.map((of, i) => point(i, bottom(of))).reverse();
      return `M${over.join("L")}L${back.join("L")}Z`;
    };
    // A line has a gap where there is nothing to show.
    const line = (value) => samples.reduce((path, of, i) => {
      const bps = value(of);
      if (bps === null || bps === undefined) return path;
      const goesOn = i > 0 && (value(samples[i - 1]) ?? null) !== null;
      return `${path}${goesOn ? "L" : "M"}${point(i, bps)}`;
    }, "");
    return {
      up: area(() => 0, (of) => of.up),
      down: area((of) => of.up, (of) => of.up + of.down),
      capacity: line((of) => of.capacity),
      // The uplink is at the bottom; a held downlink stands on it.
      target: line((of) => (of.target === null ? null : of.state === "server" ? of.up + of.target : of.target)),
    };
  }
}
