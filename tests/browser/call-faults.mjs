// Measures how soon a call is well again after each fault of faults.mjs: a line of JSON each, seconds; null: not in time.
// Ends with 3 where the machine does not show a call without a fault.
import { whyNoBrowser } from "./chromium.mjs";
import { FaultyCall } from "./faults.mjs";

const TIMEOUT_MS = 60_000;

const why = whyNoBrowser();
if (why) {
  console.error(why);
  process.exit(2);
}
const call = new FaultyCall(TIMEOUT_MS);
const tell = (fault, { videoS, naturalS }) => console.log(JSON.stringify({ fault, video_s: videoS, natural_s: naturalS }));
try {
  const { videoS } = await call.start();
  if (videoS === null) {
    console.error("not measurable: not everybody is seen by everybody before there is a fault");
    process.exitCode = 3;
  } else {
    tell("dead_link", await call.deadLink());
    tell("paused_browser", await call.pausedBrowser());
    tell("restart", await call.restart("SIGTERM"));
    tell("killed_server", await call.restart("SIGKILL"));
    tell("vanished_client", await call.vanishedClient());
  }
} finally {
  await call.stop();
}
