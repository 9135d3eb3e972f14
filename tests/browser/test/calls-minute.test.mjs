// A call of a minute on half-duplex links with Plum. Where a control without a link does not reach its rate, the machine is
// busy, and nothing is measured.
import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNoBrowser } from "../chromium.mjs";
import { measuredCall, whyNotMeasurable, withMovingCamera } from "../measured-call.mjs";

const skip = whyNoBrowser() ?? (process.env.AIRLANE_URL ? "the server under test is another one" : false);
/** VP8 takes the least of the processor. The call is a minute long, of which the first part finds its bitrates. */
const SETTING = { codec: "vp8", links: "each", people: 3, rateMbps: 2, settleMs: 20_000, measureMs: 40_000 };
/** A control without a bottleneck, ms. */
const CONTROL = { settleMs: 10_000, measureMs: 10_000 };
/** Frames that must be shown per second of each video, share of the time that may be frozen, and of the links that is used. */
const MIN_SHOWN_FPS = 8, MAX_FROZEN = 0.1, MIN_USED = 0.4;

test("a call of a minute goes on on half-duplex links", { skip }, async (t) => {
  await withMovingCamera(async (browser) => {
    const control = await measuredCall(browser, { ...SETTING, ...CONTROL, scheme: "none" });
    const reason = whyNotMeasurable(control);
    if (reason) {
      t.skip(reason);
      return;
    }
    const call = await measuredCall(browser, { ...SETTING, scheme: "on" });
    t.diagnostic(JSON.stringify({ control, call }));
    const videos = SETTING.people * (SETTING.people - 1);
    assert.ok(call.shown_fps >= MIN_SHOWN_FPS, `${call.shown_fps} frames/s`);
    assert.ok(call.frozen_s <= MAX_FROZEN * videos * call.seconds, `${call.frozen_s} s are frozen`);
    const used = (call.up_mbps + call.down_mbps) / (SETTING.rateMbps * call.links);
    assert.ok(used >= MIN_USED, `${used} of the links is used`);
  });
});
