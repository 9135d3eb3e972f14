// A packed title whose chunks come again and again: as long as is wanted, and packed once.
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes a title whose chunk n is chunk n modulo the number of the packed one's whole chunks.
 * @param {string} from a title that `airlane pack` made, without sound
 * @param {string} to its folder, which appears when it is whole; without playlists for HLS
 * @param {number} length_s at least so long, in whole chunks
 */
export function repeated(from, to, length_s) {
  const table = JSON.parse(readFileSync(join(from, "quality.json"), "utf8"));
  const short = table.made.last_chunk_s < table.chunk_s ? 1 : 0;
  const distinct = table.rungs[0].size_bytes.length - short;
  if (distinct < 1) throw new Error(`${from} has no whole chunk of ${table.chunk_s} s`);
  const chunks = Math.ceil(length_s / table.chunk_s);
  const again = (values) => Array.from({ length: chunks }, (_, n) => values[n % distinct]);

  const part = `${to}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  let manifest = readFileSync(join(from, "manifest.mpd"), "utf8");
  const timelines = [...manifest.matchAll(/initialization="([^"]*)" media="([^"]*)"[^]*?<S t="0" d="(\d+)"/g)];
  if (timelines.length !== table.rungs.length) throw new Error(`${from}: a manifest of another form`);
  for (const [, init, media, ticks] of timelines) {
    const file = (n) => media.replace("$Number$", n + 1);
    mkdirSync(join(part, init, ".."), { recursive: true });
    copyFileSync(join(from, init), join(part, init));
    for (let n = 0; n < chunks; n++) {
      const chunk = readFileSync(join(from, file(n % distinct)));
      writeFileSync(join(part, file(n)), placed(chunk, n, BigInt(ticks)));
    }
  }
  manifest = manifest
    .replace(/(mediaPresentationDuration=")[^"]*/, `$1PT${chunks * table.chunk_s}S`)
    .replace(/(<S t="0" d="\d+")[^/]*\/>(?:\s*<S [^>]*>)*/g, `$1 r="${chunks - 1}"/>`);
  for (const rung of table.rungs) {
    rung.size_bytes = again(rung.size_bytes);
    rung.quality = Object.fromEntries(Object.entries(rung.quality).map(([metric, values]) => [metric, again(values)]));
  }
  Object.assign(table, { distinct_chunks: Math.min(distinct, chunks) });
  table.made.last_chunk_s = table.chunk_s;
  copyFileSync(join(from, "poster.jpg"), join(part, "poster.jpg"));
  writeFileSync(join(part, "quality.json"), `${JSON.stringify(table)}\n`);
  writeFileSync(join(part, "manifest.mpd"), manifest);
  rmSync(to, { recursive: true, force: true });
  renameSync(part, to);
}

/** A chunk (`moof` and `mdat`, ISO/IEC 14496-12) at another place, counted from 0. */
function placed(chunk, place, ticks) {
  const out = Buffer.from(chunk);
  let boxes = 0;
  const walk = (start, end) => {
    for (let at = start; at + 8 <= end; at += out.readUInt32BE(at)) {
      const size = out.readUInt32BE(at), type = out.toString("latin1", at + 4, at + 8);
      if (size < 8) throw new Error(`a box ${type} of ${size} bytes`);
      if (type === "moof" || type === "traf") walk(at + 8, at + size);
      if (type === "mfhd") boxes += 1, out.writeUInt32BE(place + 1, at + 12);
      if (type === "tfdt") {
        if (out[at + 8] !== 1) throw new Error("a tfdt of 32 bits");
        boxes += 1, out.writeBigUInt64BE(BigInt(place) * ticks, at + 12);
      }
    }
  };
  walk(0, out.length);
  if (boxes !== 2) throw new Error(`${boxes} boxes mfhd and tfdt, not one each`);
  return out;
}
