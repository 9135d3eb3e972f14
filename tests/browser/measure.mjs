// From what a browser recorded to what its viewer got. Pure.

/** Minerva, section 8.1.3. */
export const QOE = { beta: 25, gamma: 2.5 };

/**
 * The chunks of video that a session saw, in order, with equation 1 of Minerva for each.
 *
 * A chunk that was fetched twice counts as it came last: players replace what is not played yet. A
 * stall is charged to the chunk that was missing when it began. Changes are between the mean
 * qualities of the two rungs, as crates/quality has them by default.
 *
 * @param {any} record of web/player/record.js, as JSON
 * @param {any} table the title's quality table
 * @param {string} metric
 * @returns {{chunk: number, rung: number, requested_s: number, arrived_s: number, bytes: number,
 *   quality: number, stall_s: number, change: number, qoe: number}[]}
 */
export function playedChunks(record, table, metric) {
  const last = new Map();
  for (const c of record.chunks) {
    if (c.kind === "video") last.set(Math.round(c.place_s / table.chunk_s), c);
  }
  const mean = table.rungs.map((r) => r.quality[metric].reduce((a, b) => a + b, 0) / r.quality[metric].length);
  const stalls = new Map();
  for (const s of record.stalls) {
    const chunk = Math.round(s.place_s / table.chunk_s);
    stalls.set(chunk, (stalls.get(chunk) ?? 0) + (s.to_s ?? record.now_s) - s.from_s);
  }
  let before = null;
  return [...last].sort((a, b) => a[0] - b[0])
    .filter(([chunk]) => chunk * table.chunk_s <= record.place_s && chunk < table.rungs[0].size_bytes.length)
    .map(([chunk, { rung, requested_s, arrived_s, bytes }]) => {
      const quality = table.rungs[rung].quality[metric][chunk];
      const stall_s = stalls.get(chunk) ?? 0;
      const change = before === null ? 0 : Math.abs(mean[rung] - mean[before]);
      before = rung;
      const qoe = quality - QOE.beta * stall_s - QOE.gamma * change;
      return { chunk, rung, requested_s, arrived_s, bytes, quality, stall_s, change, qoe };
    });
}

/** Means of a session; null where it played nothing. */
export function summary(record, chunks) {
  const mean = (key) => (chunks.length ? chunks.reduce((sum, c) => sum + c[key], 0) / chunks.length : null);
  return {
    chunks: chunks.length, quality: mean("quality"), qoe: mean("qoe"), startup_s: record.startup_s,
    stalls: record.stalls.length,
    stalled_s: record.stalls.reduce((sum, s) => sum + (s.to_s ?? record.now_s) - s.from_s, 0),
    changes: chunks.filter((c, i) => i > 0 && c.rung !== chunks[i - 1].rung).length,
    frames: record.frames, dropped_frames: record.dropped_frames,
  };
}
