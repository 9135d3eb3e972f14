// Faults in a call of pages, which goes on after each of them. How soon is `call-faults.mjs`'s to say: a busy machine is slow.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { whyNoBrowser } from "../chromium.mjs";
import { FaultyCall } from "../faults.mjs";

const skip = whyNoBrowser() ?? (process.env.AIRLANE_URL ? "the server under test is another one" : false);
/** How long a busy machine may take until the call goes on, ms. */
const STEP_MS = 90_000;

let call;
before(async () => {
  if (skip) return;
  call = new FaultyCall(STEP_MS);
  isWell(await call.start());
});
after(() => call?.stop());

function isWell({ videoS, naturalS }) {
  assert.notEqual(videoS, null, "everybody's video moves");
  assert.notEqual(naturalS, null, "nobody is held");
}

test("a page goes on after its link was dead for 10 s", { skip }, async () => isWell(await call.deadLink()));
test("a page goes on after its browser stood still for 10 s", { skip }, async () => isWell(await call.pausedBrowser()));
test("pages join again when the server restarts", { skip }, async () => isWell(await call.restart("SIGTERM")));
test("pages join again when the server was killed", { skip }, async () => isWell(await call.restart("SIGKILL")));
test("who vanishes is forgotten, and the others go on", { skip }, async () => {
  isWell(await call.vanishedClient());
  assert.notEqual(await call.untilForgotten(), null, "who vanished is no longer shown");
});
