// Encodings of a call's video, and what is asked for of audio.
import assert from "node:assert/strict";
import { test } from "node:test";
import { underCeiling, encodingsOf, upTo, videoBps, withDiscontinuousOpus } from "../../../web/call/encodings.js";

test("discontinuous transmission is asked for of Opus alone, and once", () => {
  const sdp = [
    "m=audio 9 UDP/TLS/RTP/SAVPF 111 63", "a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1",
    "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111", "a=rtpmap:96 VP8/90000", "",
  ].join("\r\n");
  const asked = withDiscontinuousOpus(sdp);
  assert.equal(asked, sdp.replace("useinbandfec=1", "useinbandfec=1;usedtx=1"));
  assert.equal(withDiscontinuousOpus(asked), asked);
});

test("under a ceiling the lower of two encodings keeps what it needs, and the upper one is paused where little is left", () => {
  const encodings = encodingsOf("VP8", 800_000);
  const rates = (bps) => underCeiling(encodings, "VP8", bps, 800_000).map(({ active, maxBitrate }) => [active, maxBitrate]);
  assert.deepEqual(rates(600_000), [[true, 200_000], [true, 400_000]]);
  assert.deepEqual(rates(250_000), [[true, 250_000], [false, 50_000]]);
  assert.deepEqual(encodingsOf("AV1", 800_000), [{ scalabilityMode: "L2T3_KEY", maxBitrate: 800_000 }]);
});

test("encodings that nobody gets are paused", () => {
  const active = (bps, max) => upTo(underCeiling(encodingsOf("VP8", 800_000), "VP8", bps, 800_000), max).map((of) => of.active);
  assert.deepEqual(active(600_000, Infinity), [true, true]);
  assert.deepEqual(active(600_000, 0), [true, false]);
  assert.deepEqual(active(250_000, 1), [true, false]);
  assert.deepEqual(active(600_000, -1), [false, false]);
});

test("video gets what audio leaves of a ceiling", () => {
  assert.equal(videoBps(null, 800_000), 800_000);
  assert.equal(videoBps(350_000, 800_000), 300_000);
  assert.equal(videoBps(10_000, 800_000), 30_000);
  assert.equal(videoBps(5_000_000, 800_000), 800_000);
});
