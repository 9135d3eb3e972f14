// A title that is packed once and repeats its chunks.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { repeated } from "../repeat.mjs";

const home = mkdtempSync(join(tmpdir(), "airlane-repeat-"));
after(() => rmSync(home, { recursive: true }));

const box = (type, ...parts) => {
  const body = Buffer.concat(parts), head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length), head.write(type, 4, "latin1");
  return Buffer.concat([head, body]);
};
const number = (value, bytes) => Buffer.from(value.toString(16).padStart(2 * bytes, "0"), "hex");

/** A chunk as `airlane pack` lays it out. */
const chunk = (place, ticks, picture) => Buffer.concat([
  box("moof", box("mfhd", number(0, 4), number(place + 1, 4)),
    box("traf", box("tfhd", number(1, 4), number(1, 4)), box("tfdt", number(1 << 24, 4), number(place * ticks, 8)))),
  box("mdat", Buffer.from(picture)),
]);

/** A title of a rung, its pictures a letter each, of 2 s but the last one. */
function title(name, pictures, last_chunk_s) {
  const folder = join(home, name), media = join(folder, "video/240p");
  mkdirSync(media, { recursive: true });
  writeFileSync(join(folder, "poster.jpg"), "poster");
  writeFileSync(join(media, "init.mp4"), "init");
  [...pictures].forEach((picture, n) => writeFileSync(join(media, `${n + 1}.m4s`), chunk(n, 20000, picture)));
  const short = last_chunk_s < 2 ? `\n<S d="${last_chunk_s * 1e4}"/>` : "";
  writeFileSync(join(folder, "manifest.mpd"), `<MPD mediaPresentationDuration="PT9S">
<SegmentTemplate startNumber="1" initialization="video/240p/init.mp4" media="video/240p/$Number$.m4s">
<SegmentTimeline>\n<S t="0" d="20000" r="1"/>${short}\n</SegmentTimeline></SegmentTemplate></MPD>`);
  writeFileSync(join(folder, "quality.json"), JSON.stringify({
    chunk_s: 2, distinct_chunks: pictures.length, made: { last_chunk_s },
    rungs: [{ size_bytes: [...pictures].map((_, n) => n + 1), quality: { vmaf: [...pictures].map((_, n) => 10 * n) } }],
  }));
  return folder;
}

test("whole chunks come again in their order, at their new places", () => {
  for (const [pictures, last_s] of [["ab", 2], ["abc", 1]]) {
    const to = join(home, `long-${pictures}`);
    repeated(title(pictures, pictures, last_s), to, 9);
    const media = join(to, "video/240p");
    [..."ababa"].forEach((picture, n) => {
      assert.deepEqual(readFileSync(join(media, `${n + 1}.m4s`)), chunk(n, 20000, picture));
    });
    assert.ok(!existsSync(join(media, "6.m4s")));
    assert.equal(readFileSync(join(media, "init.mp4"), "utf8"), "init");
    const manifest = readFileSync(join(to, "manifest.mpd"), "utf8");
    assert.match(manifest, /mediaPresentationDuration="PT10S"/);
    assert.deepEqual(manifest.match(/<S .*/g), ['<S t="0" d="20000" r="4"/>']);
    const table = JSON.parse(readFileSync(join(to, "quality.json"), "utf8"));
    assert.deepEqual(table.rungs, [{ size_bytes: [1, 2, 1, 2, 1], quality: { vmaf: [0, 10, 0, 10, 0] } }]);
    assert.deepEqual([table.distinct_chunks, table.made.last_chunk_s], [2, 2]);
  }
});

test("a title of another form is refused, and nothing is left", () => {
  const from = title("other", "ab", 2), to = join(home, "refused");
  writeFileSync(join(from, "video/240p/2.m4s"), box("mdat", Buffer.from("no time")));
  assert.throws(() => repeated(from, to, 9), /0 boxes mfhd and tfdt/);
  assert.ok(!existsSync(to));
  assert.throws(() => repeated(title("brief", "a", 1), to, 9), /no whole chunk/);
});
