// Which CMCD keys the unchanged players send: `npm run cmcd`, against the server under test. The
// tables of docs/guide/browsers.md come from it.
import { launch, openPage } from "./chromium.mjs";
import { cmcdOf, keysOf } from "./cmcd.mjs";
import { pageAddress, servePages } from "./pages.mjs";
import { jsonOf, serverUnderTest } from "./server.mjs";

/** Seconds that a player plays before it is paused, and after each click. */
const PLAY_S = 9, CLICK_S = 1;

const server = await serverUnderTest();
const pages = await servePages();
const browser = await launch(server);
const { page, context } = await openPage(browser);
await page.goto(`${server.url}/airlane/player`);
const title = (await jsonOf(page, "/airlane/titles")).titles.find((t) => t.hls);
await context.close();
for (const player of ["dash", "shaka", "hls"]) {
  for (const cmcdv of ["1", "2"]) {
    for (const cmcd of ["query", "header"]) await report(player, cmcdv, cmcd);
  }
}
await browser.close();
await pages.close();
await server.close();

async function report(player, cmcdv, cmcd) {
  const { page, context } = await openPage(browser);
  /** By kind of object or report: the keys that occur. */
  const seen = new Map();
  const add = (kind, keys) => {
    const known = seen.get(kind) ?? new Set();
    for (const key of Object.keys(keys)) known.add(key);
    seen.set(kind, known);
  };
  page.on("request", (request) => {
    const sent = cmcdOf(request.url(), request.headers());
    if (sent) add(`ot=${sent.keys.ot}`, sent.keys);
    if (!new URL(request.url()).pathname.endsWith("/airlane/cmcd")) return;
    for (const line of (request.postData() ?? "").split("\n").filter(Boolean)) {
      const keys = keysOf(line);
      add(`report e=${keys.e}`, keys);
    }
  });
  const events = `${server.url}/airlane/cmcd`;
  await page.goto(pageAddress(pages.url, player, server.url, title, {
    sid: crypto.randomUUID(), cmcdv, cmcd, ...(cmcdv === "2" ? { events } : {}),
  }));
  await page.waitForTimeout(PLAY_S * 1e3);
  for (const click of ["pause", "play"]) {
    await page.evaluate((act) => document.querySelector("video")[act](), click);
    await page.waitForTimeout(CLICK_S * 1e3);
  }
  const name = await page.evaluate(() => globalThis.airlane.name);
  console.log(`${name}, version ${cmcdv}, ${cmcd}`);
  for (const [kind, keys] of [...seen].sort()) console.log(`  ${kind.padEnd(12)} ${[...keys].sort().join(" ")}`);
  await context.close();
}
