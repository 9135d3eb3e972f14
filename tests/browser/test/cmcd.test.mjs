// CMCD texts: what the page adds to them, and what tests read of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cmcdSettings, keyInterceptor, withKeys } from "../../../web/player/cmcd.js";
import { cmcdOf, keysOf } from "../cmcd.mjs";

// The interceptor resolves relative addresses against the page's.
globalThis.location = /** @type {any} */ ({ href: "http://server/airlane/player" });

test("keys of ours stand among the others, in order, whatever quotes hold", () => {
  assert.equal(
    withKeys('bl=1200,cid="a,b",nor="x\\",y",su', { "com.airlane-abr": 'q"u' }),
    'bl=1200,cid="a,b",com.airlane-abr="q\\"u",nor="x\\",y",su',
  );
  assert.equal(withKeys("br=(900;v 64;a),v=2", { "com.airlane-rb": 0.25, "com.airlane-abr": "bola" }), 'br=(900;v 64;a),com.airlane-abr="bola",com.airlane-rb=0.25,v=2');
});

test("the interceptor extends the query or the session header, and leaves other requests alone", async () => {
  const add = keyInterceptor(() => ({ "com.airlane-abr": "robust-mpc" }));
  const query = await add({ url: 'http://server/a?x=1&CMCD=bl%3D100%2Csid%3D%22s%22', headers: {} });
  const sent = cmcdOf(query.url, {});
  assert.deepEqual([sent.mode, sent.keys], ["query", { bl: "100", "com.airlane-abr": "robust-mpc", sid: "s" }]);
  assert.equal(new URL(query.url).searchParams.get("x"), "1");
  const header = await add({ url: "http://server/a", headers: { "CMCD-Session": 'sid="s"', "CMCD-Object": "br=1" } });
  assert.deepEqual(header.headers, { "CMCD-Session": 'com.airlane-abr="robust-mpc",sid="s"', "CMCD-Object": "br=1" });
  const bare = await add({ url: "http://server/a?b=c", headers: {} });
  assert.deepEqual(bare, { url: "http://server/a?b=c", headers: {} });
});

test("settings follow the options", () => {
  const options = { mode: "header", version: 2, sid: "s", cid: "c", events: "http://server/airlane/cmcd" };
  const { cmcd } = cmcdSettings(options).streaming;
  assert.deepEqual([cmcd.mode, cmcd.version, cmcd.eventTargets.length], ["headers", 2, 1]);
  assert.equal(cmcdSettings({ ...options, version: 1 }).streaming.cmcd.eventTargets.length, 0);
  assert.equal(cmcdSettings({ ...options, mode: "off" }).streaming.cmcd.enabled, false);
});

test("texts of both versions are read", () => {
  assert.deepEqual(keysOf('bl=(900;v 64;a),br=(3000),bs,cid="a,\\"b"'), { bl: "900", br: "3000", bs: true, cid: 'a,"b' });
  assert.equal(cmcdOf("http://server/a", {}), null);
});
