// The token of the server's session: taken from answers, shown in requests to the page's server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerSession } from "../../../web/player/server-session.js";

test("the last token that came is shown to the page's own server, and to no other", async () => {
  const session = new ServerSession("https://server:4433/airlane/player?title=film");
  const shown = async (url, headers) => (await session.show({ url, headers })).headers;
  assert.deepEqual(await shown("/film/v0/0.m4s", {}), {});
  await session.receive({ headers: { "content-type": "video/mp4" } });
  await session.receive({ headers: undefined });
  assert.equal(session.token, null);
  await session.receive({ headers: { "Airlane-Session": "1.ab" } });
  await session.receive({ headers: {} });
  assert.equal(session.token, "1.ab");
  assert.deepEqual(await shown("/film/v0/0.m4s", undefined), { "airlane-session": "1.ab" });
  assert.deepEqual(await shown("https://server:4433/a", { Range: "bytes=0-1" }), { Range: "bytes=0-1", "airlane-session": "1.ab" });
  for (const url of ["https://elsewhere:4433/a", "https://server:4434/a", "http://server:4433/a"]) {
    assert.deepEqual(await shown(url, {}), {}, url);
  }
  await session.receive({ headers: { "airlane-session": "2.cd" } });
  assert.deepEqual(await shown("/airlane/cmcd", {}), { "airlane-session": "2.cd" });
});
