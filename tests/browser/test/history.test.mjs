// The history of a participant's channel, as the operator's page of calls draws it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { History, MAX_SAMPLES } from "../../../web/call/history.js";

const sample = (up, down, { capacity = null, target = null, state = "natural" } = {}) =>
  ({ up_bps: up, down_bps: down, capacity_bps: capacity, target_bps: target, state });

test("the newest sample is at the right edge, and old ones go", () => {
  const history = new History();
  for (let i = 0; i < MAX_SAMPLES + 5; i += 1) history.add(sample(1e6, 1e6));
  assert.equal(history.samples.length, MAX_SAMPLES);
  const { up, down } = history.paths(119, 10);
  assert.match(up, /^M0\.0 5\.0L/u);
  assert.match(up, /L119\.0 5\.0L119\.0 10\.0L/u);
  assert.match(down, /L119\.0 0\.0L119\.0 5\.0L/u);
});

test("a capacity that is not known is a gap, and a held downlink stands on the uplink", () => {
  const history = new History();
  history.add(sample(0, 0, { capacity: 2e6 }));
  history.add(sample(0, 0));
  history.add(sample(0.5e6, 1e6, { capacity: 2e6, target: 1e6, state: "server" }));
  const { capacity, target } = history.paths(119, 20);
  assert.equal(capacity, "M117.0 0.0M119.0 0.0");
  assert.equal(target, "M119.0 5.0");
  history.add(sample(0.5e6, 1e6, { capacity: 2e6, target: 0.5e6, state: "client" }));
  assert.match(history.paths(119, 20).target, /^M118\.0 5\.0L119\.0 15\.0$/u);
});

test("one sample alone has no area", () => {
  const history = new History();
  history.add(sample(1, 1));
  assert.deepEqual(history.paths(10, 10), { up: "", down: "", capacity: "", target: "" });
});
