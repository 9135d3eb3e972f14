// From a record to the figures of a session.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playedChunks, summary } from "../measure.mjs";

const rung = (values) => ({ size_bytes: values.map(() => 1), quality: { vmaf: values } });
const table = { chunk_s: 4, rungs: [rung([40, 44, 42]), rung([80, 84, 82])] };
const chunk = (place_s, rung, arrived_s, kind = "video") =>
  ({ kind, rung, place_s, duration_s: 4, requested_s: arrived_s - 1, arrived_s, bytes: 1000 });

test("each chunk counts as it came last, with its stall and its change", () => {
  const record = {
    chunks: [chunk(0, 0, 1), chunk(0, 0, 1.1, "audio"), chunk(4, 0, 2), chunk(4.01, 1, 3), chunk(8, 1, 9)],
    stalls: [{ from_s: 8.5, to_s: 9, place_s: 7.98 }], startup_s: 1.2, now_s: 12, place_s: 11,
    frames: 250, dropped_frames: 2,
  };
  const chunks = playedChunks(record, table, "vmaf");
  assert.deepEqual(chunks.map((c) => [c.chunk, c.rung, c.quality, c.stall_s, c.change, c.qoe]), [
    [0, 0, 40, 0, 0, 40], [1, 1, 84, 0, 40, 84 - 100], [2, 1, 82, 0.5, 0, 82 - 12.5],
  ]);
  assert.deepEqual(summary(record, chunks), {
    chunks: 3, quality: 206 / 3, qoe: (40 - 16 + 69.5) / 3, startup_s: 1.2, stalls: 1, stalled_s: 0.5,
    changes: 1, frames: 250, dropped_frames: 2,
  });
});

test("a stall that lasts is counted up to now, and what was fetched but not played is not counted", () => {
  const record = {
    chunks: [chunk(0, 1, 1), chunk(4, 1, 2), chunk(8, 1, 3)], stalls: [{ from_s: 5, to_s: null, place_s: 4 }],
    startup_s: 1, now_s: 7, place_s: 4, frames: 0, dropped_frames: 0,
  };
  const chunks = playedChunks(record, table, "vmaf");
  assert.deepEqual(chunks.map((c) => c.stall_s), [0, 2]);
});

test("a session that never played has no means", () => {
  const record = { chunks: [], stalls: [], startup_s: null, now_s: 3, place_s: 0, frames: 0, dropped_frames: 0 };
  const { quality, qoe, stalled_s } = summary(record, playedChunks(record, table, "vmaf"));
  assert.deepEqual([quality, qoe, stalled_s], [null, null, 0]);
});
