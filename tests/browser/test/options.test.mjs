// The player page's address, its tables, and the live page's memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Sessions } from "../../../web/live/sessions.js";
import { readOptions, withOptions } from "../../../web/player/options.js";
import { metricOf, settingFor } from "../../../web/player/tables.js";

test("what the address does not say, or says wrongly, has a default", () => {
  const none = readOptions("");
  assert.deepEqual(none, {
    title: null, token: null, mpd: null, media: null, abr: "mpc", sid: null, cmcd: "query", version: 1, metric: null, muted: false, autoplay: true, bare: false,
  });
  assert.deepEqual(readOptions("?abr=nonsense&cmcd=&metric=vmaf2&cmcdv=3&title=&media=here"), none);
  const all = readOptions("?title=bunny&media=https://edge:5000/x&abr=bola&sid=s&cmcd=header&cmcdv=2&metric=vmaf_phone&muted&autoplay=0&bare");
  assert.deepEqual(all, {
    title: "bunny", token: null, mpd: null, media: "https://edge:5000", abr: "bola", sid: "s", cmcd: "header", version: 2, metric: "vmaf_phone", muted: true, autoplay: false, bare: true,
  });
});

test("an address keeps what is not changed", () => {
  assert.equal(withOptions("http://s/airlane/player?abr=bola&sid=x", { title: "a b", sid: null }),
    "http://s/airlane/player?abr=bola&title=a+b");
});

const table = {
  format: "airlane-chunks", version: 1, chunk_s: 4,
  rungs: ["low", "mid", "top"].map((name, i) => ({ name, size_bytes: [1e5 * (i + 1), 1e5 * (i + 1)], quality: { vmaf: [30 * i + 30, 30 * i + 30] } })),
};
const rep = (id, bandwidth) => ({ id, bandwidth, segmentDuration: 4 });
const length = { duration_s: 9.5, chunk_s: 4 };

test("rungs of the manifest find theirs in the table by name, then by order, or else go by rates", () => {
  const named = settingFor(table, "vmaf", [rep("low", 1), rep("top", 3)], length);
  assert.deepEqual(named.bits[0], [8e5, 2.4e6]);
  const ordered = settingFor(table, "vmaf", [rep("0", 1), rep("1", 2), rep("2", 3)], length);
  assert.deepEqual(ordered.bits[1], [8e5, 1.6e6, 2.4e6]);
  for (const setting of [
    settingFor(table, "vmaf", [rep("0", 1e6), rep("1", 2e6)], length),
    settingFor(table, "ssim", [rep("low", 1e6), rep("top", 2e6)], length),
    settingFor(null, "vmaf", [rep("0", 1e6), rep("1", 2e6)], length),
  ]) assert.deepEqual([setting.chunks, setting.bits[0]], [3, [4e6, 8e6]]);
  assert.deepEqual([metricOf(table, "vmaf_phone"), metricOf(null, null)], ["vmaf", "vmaf"]);
});

const session = (id, history, connection = 1) => ({ id, connection, history });

test("sessions keep their colours, gather points once, and go a while after they ended", () => {
  const live = new Sessions();
  const hear = (now_s, sessions) => live.heard({ now_s, policy: "max-min", ab: null, sessions });
  hear(10, [session("a", [[9, 1e6, 2, 3, 4, 5], [10, 2e6, 2, 3, 4, 5]]), session("b", [])]);
  assert.equal(live.since, 10);
  hear(11, [session("a", [[10, 2e6, 2, 3, 4, 5], [11, null, 2, 3, 4, 5]])]);
  const [a, b] = live.list();
  assert.deepEqual(a.points.map((p) => [p.t, p.rate_bps]), [[9, 1e6], [10, 2e6], [11, null]]);
  assert.deepEqual([a.colour, b.colour, a.ended, b.ended], [0, 1, false, true]);
  hear(19, [session("a", [])]);
  assert.deepEqual(live.list().map((s) => s.now.id), ["a"]);
  hear(20, [session("a", []), ...Array.from({ length: 8 }, (_, i) => session(`n${i}`, []))]);
  const places = live.list().map((s) => `${s.colour}${s.dashed ? "d" : ""}`);
  assert.equal(new Set(places).size, 9, `${places}`);
  hear(21, [session("", [], 1), session("", [], 2)]);
  assert.equal(live.list().filter((s) => s.now.id === "" && !s.ended).length, 2, "a connection each");
  hear(1, [session("z", [])]);
  assert.deepEqual([live.list().map((s) => s.now.id), live.since], [["z"], 0]);
});
