// The player page's MPC against the laboratory's: the same rung on the same state.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bestPlan, History, nextRung, prediction, settingOfRates, settingOfTable } from "../../../web/player/mpc.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
// Cargo would build it again, and what it is made of: one crate alone takes other features.
const [program, ...args] = process.env.MPC_VECTORS_BIN ? [process.env.MPC_VECTORS_BIN]
  : ["cargo", "run", "--quiet", "--locked", "-p", "airlane-abr", "--example", "mpc_vectors"];
const vectors = JSON.parse(execFileSync(
  program, args, { cwd: root, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] },
));
const tables = vectors.tables.map((t) => JSON.parse(t));

function history(samples) {
  const history = new History();
  for (const s of samples) history.push(s);
  return history;
}

test("there are a few hundred states", () => {
  assert.equal(vectors.format, "airlane-mpc-vectors");
  assert.ok(vectors.cases.length >= 400, `${vectors.cases.length}`);
  const rungs = new Set(vectors.cases.map((c) => c.rung));
  assert.equal(rungs.size, 8, "every rung is the answer somewhere");
});

test("the rule decides as the Rust code does", () => {
  for (const [i, c] of vectors.cases.entries()) {
    const setting = settingOfTable(tables[c.table], "vmaf", c.player, c.qoe);
    const state = { ...c.state, history: history(c.samples_bps) };
    const rate = prediction(state.history, c.robust);
    assert.equal(rate, c.prediction_bps, `case ${i}`);
    if (rate !== null) {
      const { value } = bestPlan(setting, state, rate);
      assert.ok(Math.abs(value - c.value) <= 2e-6, `case ${i}: ${value}, ${c.value}`);
    }
    assert.equal(nextRung(setting, state, c.robust), c.rung, `case ${i}: ${JSON.stringify(c)}`);
  }
});

test("samples that are no rate are left out", () => {
  const h = history([NaN, 0, -1, Infinity]);
  assert.equal(h.harmonicMean(), null);
  assert.equal(h.maxError(), 0);
});

test("a title without a table has a concave quality from 0 to 100 and sizes of its rates", () => {
  const s = settingOfRates([4e5, 1.2e6, 3e6, 6e6], 10, 4);
  assert.equal(s.bits[3][1], 4.8e6);
  assert.equal(s.quality[9][3], 100);
  const slopes = [0, 1, 2].map((r) =>
    (s.quality[0][r + 1] - s.quality[0][r]) / (s.bits[0][r + 1] - s.bits[0][r]));
  assert.ok(slopes[0] > slopes[1] && slopes[1] > slopes[2], `${slopes}`);
  const at = (bps) => nextRung(s, {
    next_chunk: 3, buffer_s: 12, last_rung: 1, history: history([bps, bps, bps]),
  });
  assert.equal(at(1e5), 0);
  assert.equal(at(1e8), 3);
});

test("a table of another format is refused", () => {
  assert.throws(() => settingOfTable({ format: "other", version: 1 }, "vmaf"), /airlane-chunks/);
  assert.throws(() => settingOfTable(tables[0], "psnr_db"), /no psnr_db/);
});
