// Measures of quality are shown in their own units.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scaleOf } from "../../../web/shared/scales.js";

test("PSNR is in dB, VMAF in points, and SSIM a number", () => {
  assert.deepEqual(["psnr_db", "vmaf", "vmaf_phone", "ssim", null].map((m) => scaleOf(m).unit),
    ["dB", "points", "points", "", "points"]);
  assert.deepEqual(scaleOf("psnr_db").atLeast, [20, 50]);
});
