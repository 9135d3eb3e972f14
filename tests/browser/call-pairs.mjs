// Calls of pages of one Chromium through half-duplex links, each page behind one of its own (`--links each`) or all
// behind one (`--links shared`), with Plum and without, in pairs whose order alternates. Prints a line of JSON per call:
// what was received, shown and frozen, and what the links carried. Ends with 3 where the processor is the bottleneck.
import { parseArgs } from "node:util";
import { whyNoBrowser } from "./chromium.mjs";
import { measuredCall, whyNotMeasurable, withMovingCamera } from "./measured-call.mjs";

const { values } = parseArgs({ options: {
  pairs: { type: "string", default: "12" }, "rate-mbps": { type: "string", default: "2" },
  codec: { type: "string", default: "av1" }, links: { type: "string", default: "each" },
  people: { type: "string", default: "3" },
  "settle-s": { type: "string", default: "45" }, "measure-s": { type: "string", default: "25" },
} });
const pairs = Number(values.pairs);
const setting = {
  codec: values.codec, links: values.links, people: Number(values.people), rateMbps: Number(values["rate-mbps"]),
  settleMs: Number(values["settle-s"]) * 1000, measureMs: Number(values["measure-s"]) * 1000,
};

const why = whyNoBrowser();
if (why) {
  console.error(why);
  process.exit(2);
}
const tell = (of) => console.log(JSON.stringify(of));
await withMovingCamera(async (browser) => {
  const control = await measuredCall(browser, { ...setting, scheme: "none" });
  tell(control);
  const reason = whyNotMeasurable(control);
  if (reason) {
    console.error(reason);
    process.exitCode = 3;
    return;
  }
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const scheme of pair % 2 ? ["on", "off"] : ["off", "on"]) tell({ pair, ...await measuredCall(browser, { ...setting, scheme }) });
  }
});
