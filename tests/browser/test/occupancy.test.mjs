// Shares of a shared medium, as the report's strips read them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const script = readFileSync(new URL("../../../web/occupancy.js", import.meta.url), "utf8");
const occupancy = vm.runInNewContext(`${script}\nairlaneOccupancy`);

const actors = [{ name: "near", colour: 0 }, { name: "far", colour: 1 }];
const tools = { make: () => ({}), colour: (name) => name, actors, format: (v) => String(v) };
const kinds = [{ name: "first", fill: "own" }, { name: "again", fill: "again" }, { name: "clash", fill: "clash" }];
const medium = (near, far) => ({
  title: "air", help: "", free: "idle", kinds, bin: 0.1, stretch: null,
  holders: [{ actor: 0, name: "near", shares: near }, { actor: 1, name: "far", shares: far }],
});

const one = medium([[100, 300], [0, 100], [0, 0]], [[500, 200], [0, 0], [50, 0]]);
const read = (strip, run, from, to) =>
  Object.fromEntries(Array.from(strip.read(run, from, to), ({ name, share }) => [name, Math.round(share * 10) / 10]));

test("the whole has who sent for the first time, and what was in vain by kind", () => {
  const { total } = occupancy([one], tools);
  assert.deepEqual(read(total, 0, 0, 0.2), { near: 20, far: 35, again: 5, clash: 2.5 });
  assert.deepEqual(read(total, 0, 0.05, 0.05), { near: 10, far: 50, again: 0, clash: 5 });
});

test("a strip has one holder's kinds, and all strips one scale", () => {
  const { lanes } = occupancy([one, null], tools);
  assert.deepEqual(read(lanes[0], 0, 0.1, 0.2), { first: 30, again: 10, clash: 0 });
  assert.equal(lanes[0].most(), 60, "55 %, to the next ten");
  assert.equal(lanes[0].most(), lanes[1].most());
});

test("a run without a holder, and a time beyond the end, have none of it", () => {
  const other = { ...one, holders: one.holders.slice(1) };
  const { total, lanes } = occupancy([one, other], tools);
  assert.deepEqual(read(total, 1, 0, 0.2), { near: 0, far: 35, again: 0, clash: 2.5 });
  assert.deepEqual(read(lanes[0], 1, 0, 0.2), { first: 0, again: 0, clash: 0 });
  assert.deepEqual(read(total, 0, 5, 9), { near: 0, far: 0, again: 0, clash: 0 });
});

test("of many holders those that held most have strips", () => {
  const holders = Array.from({ length: 20 }, (_, i) => ({ actor: null, name: `s${i}`, shares: [[i], [0], [0]] }));
  const { lanes, left } = occupancy([{ ...one, holders }], tools);
  assert.equal(lanes.length, 12);
  assert.equal(left, 8);
  assert.equal(lanes[0].title, "s19");
});
