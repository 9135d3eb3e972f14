// Players as npm has them, unchanged: each plays a title, and its CMCD is what the server reads.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { launch, openPage, whyNoBrowser } from "../chromium.mjs";
import { cmcdOf } from "../cmcd.mjs";
import { pageAddress, servePages } from "../pages.mjs";
import { adminJson, jsonOf, serverUnderTest } from "../server.mjs";

const skip = whyNoBrowser() ?? false;

/** Keys on every chunk of video but the first ones, as docs/guide/browsers.md lists them. */
const KEYS = {
  dash: ["bl", "br", "cid", "d", "mtp", "ot", "sid", "st", "tb"],
  shaka: ["bl", "br", "cid", "d", "ot", "sid", "st", "tb"],
  hls: ["bl", "br", "cid", "d", "mtp", "ot", "sid", "st"],
};
const NAMES = { dash: /^dash\.js 5\.2\.1$/, shaka: /^Shaka Player v5\.2\.12/, hls: /^hls\.js 1\.7\.4$/ };

let server, pages, browser, titles;
before(async () => {
  if (skip) return;
  server = await serverUnderTest();
  pages = await servePages();
  browser = await launch(server);
  const { page, context } = await openPage(browser);
  await page.goto(`${server.url}/airlane/player`);
  ({ titles } = await jsonOf(page, "/airlane/titles"));
  await context.close();
});
after(async () => {
  await browser?.close();
  await pages?.close();
  await server?.close();
});

// They play in real time, each in a session of its own: several at once.
describe("players", { concurrency: 3 }, () => {
  for (const player of Object.keys(KEYS)) {
    for (const version of ["1", "2"]) {
      test(`${player} plays, with CMCD version ${version}`, { skip }, async () => {
        const title = titles.find((t) => t.hls && t.table);
        const sid = crypto.randomUUID();
        const { page, context, faults } = await openPage(browser);
        const sent = [];
        page.on("request", (r) => {
          const cmcd = cmcdOf(r.url(), r.headers());
          if (cmcd?.keys.ot === "v" || cmcd?.keys.ot === "av") sent.push(cmcd.keys);
        });
        // A session is its connection's, and a browser may leave one for another at any time: what counts is
        // that the server knew it, and not whether it does so in the end.
        let known = [];
        let isOver = false;
        const watching = (async () => {
          while (!isOver) {
            const { sessions } = await adminJson(server, `/airlane/sessions?sid=${sid}`);
            if (sessions.length > 0) known = sessions;
            await new Promise((resolve) => setTimeout(resolve, 200));
          }
        })();
        await page.goto(pageAddress(pages.url, player, server.url, title, { sid, cmcdv: version }));
        await page.waitForFunction(() => {
          const { record } = globalThis.airlane ?? {};
          return record?.chunks.filter((c) => c.kind === "video").length >= 5 && document.querySelector("video").currentTime > 4.5;
        });
        const { name, record } = await page.evaluate(() => JSON.parse(JSON.stringify(globalThis.airlane)));
        assert.match(name, NAMES[player]);
        assert.deepEqual([record.faults, faults], [[], []]);

        const keys = sent.at(-1);
        for (const key of KEYS[player]) assert.ok(key in keys, `${key} in ${JSON.stringify(keys)}`);
        assert.deepEqual([keys.sid, keys.cid, keys.v], [sid, title.name, version === "2" ? "2" : undefined]);

        const { chunk_s } = await jsonOf(page, server.url + title.table);
        const video = record.chunks.filter((c) => c.kind === "video");
        const chunks = [...new Set(video.map((c) => Math.round(c.place_s / chunk_s)))].sort((a, b) => a - b);
        assert.deepEqual(chunks, chunks.map((_, i) => i), "none is missing");

        isOver = true;
        await watching;
        assert.deepEqual(known.map((session) => session.title), [title.name]);
        await context.close();
      });
    }
  }
});
