// The story in small: four browsers behind the link, and what the laboratory says of them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { whyNoBrowser } from "../chromium.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const airlane = process.env.AIRLANE_BIN;
const skip = whyNoBrowser() ?? (airlane ? false : "AIRLANE_BIN names no program");

const out = join(root, "target/browser-story");

const run = (program, args) => {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", cwd: root });
  return { status, text: `${stdout}${stderr}` };
};

// The pictures are small: they have the rates of larger ones, take a fraction of the time to make, and
// any machine decodes four of them.
test("four browsers play under Minerva", { skip }, () => {
  mkdirSync(out, { recursive: true });
  const { status, text } = run(process.execPath, [
    join(root, "tests/browser/story.mjs"), "--airlane", airlane, "--out", out, "--size", "360p25",
    "--duration-s", "36", "--schemes", "minerva", "--packed-s", "20",
  ]);
  assert.equal(status, 0, text);
  const { runs } = JSON.parse(readFileSync(join(out, "browsers.json"), "utf8"));
  const players = runs.flatMap((r) => r.players);
  assert.equal(players.length, 4);
  for (const player of players) {
    assert.deepEqual([...player.faults, ...player.failed_loads], [], player.title);
    assert.equal(player.server.sessions[0].regime, "minerva", player.title);
    assert.ok(player.chunks.length >= 5, `${player.title} fetched ${player.chunks.length} chunks`);
  }
});

/** Share of the processors' time from which on a run is void, as the laboratory has it. */
const BUSY = 0.85;

test("the laboratory predicts what they saw", { skip }, (t) => {
  const { status, text } = run(airlane, ["report", out, "--out", join(out, "report")]);
  // 1: a claim fails; what fails is told below.
  assert.ok([0, 1].includes(status), text);
  const { claims, rows } = JSON.parse(readFileSync(join(out, "report/summary.json"), "utf8"));
  // What browsers see on a busy machine is no matter of the link: `make bench BENCH="--only browsers"` judges
  // it on a quiet one.
  const { runs } = JSON.parse(readFileSync(join(out, "browsers.json"), "utf8"));
  const isBusy = runs.every((r) => r.cpu > BUSY);
  assert.equal(claims.some((c) => c.n > 0), !isBusy, `runs are void by another rule: ${text}`);
  const values = (viewer, scheme, metric) => rows
    .filter((r) => r.case === viewer && r.scheme === scheme && r.metric === metric).map((r) => r.value);
  for (const viewer of ["1/v1", "1/v2", "1/v3", "1/v4"]) {
    for (const [metric, outside] of [["vmaf", (x, by) => x + by * 5], ["bitrate_bps", (x, by) => x * (1 + by * 0.15)]]) {
      const predicted = values(viewer, "minerva-laboratory", metric);
      const [seen] = values(viewer, "minerva-browsers", metric);
      assert.equal(predicted.length, 32);
      assert.ok(seen > 0, `${metric} of ${viewer}: ${seen}`);
      if (isBusy) continue;
      const least = outside(Math.min(...predicted), -1), most = outside(Math.max(...predicted), 1);
      assert.ok(least <= seen && seen <= most, `${metric} of ${viewer}: ${seen}, predicted ${least} to ${most}\n${text}`);
    }
  }
  if (isBusy) t.skip("the machine was busy: what they saw is not compared with what is predicted");
});
