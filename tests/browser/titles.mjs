// Titles for the story where nobody gave any: four generated clips, packed by `airlane pack`.
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./processes.mjs";
import { repeated } from "./repeat.mjs";

/** Seconds of picture that are drawn; a clip repeats them. */
const DRAWN_S = 20;
const FPS = 25;

/** Rungs of both sizes: the same rates, so that only the pictures to decode differ. */
export const SIZES = {
  "720p25": { width: 1280, height: 720, rungs: "240p:280k,360p:650k,480p:1.2M,720p:2.8M" },
  "360p25": { width: 640, height: 360, rungs: "240p:280k,360p:650k,360p:1.2M,360p:2.8M" },
};

/**
 * Pictures of different difficulty. All of them look better at each rung by more than players'
 * estimates vary: where two rungs look alike, chance chooses between their rates.
 */
const CLIPS = {
  shore: (s) => mandelbrot(s, "240x136:start_x=-0.1:start_y=0.65"),
  life: (s) => `life=s=160x90:r=${FPS}:seed=1:mold=25:ratio=0.1:death_color=#203050:life_color=#d0e0a0,scale=${s.replace("x", ":")}:flags=bicubic,tmix=frames=8`,
  bars: (s) => `testsrc2=s=${s}:r=${FPS}`,
  mandelbrot: (s) => mandelbrot(s, "480x270"),
};

/** A walk into the Mandelbrot set, drawn small and so smooth. */
function mandelbrot(size, how) {
  return `mandelbrot=s=${how}:r=${FPS}:end_pts=${DRAWN_S * FPS},scale=${size.replace("x", ":")}:flags=bicubic`;
}

/**
 * Makes what is not there yet, `length_s` seconds of each.
 * @param {string} airlane the program
 * @param {string} out where clips and titles are kept
 * @param {{size: keyof typeof SIZES, length_s: number, chunk_s: number, packed_s: number}} what
 *   `packed_s`: of a longer title so much is packed, and its chunks are repeated
 * @returns {Promise<string>} the folder of titles
 */
export async function storyTitles(airlane, out, { size, length_s, chunk_s, packed_s }) {
  const clips = join(out, "clips");
  const named = (prefix, seconds) => join(out, `${prefix}-${size}-${seconds}s-of-${chunk_s}s`);
  const repeats = packed_s < length_s, folder = named("titles", repeats ? `${packed_s}s-as-${length_s}` : length_s);
  const packed = repeats ? named("packed", packed_s) : folder;
  for (const made of [clips, packed, folder]) mkdirSync(made, { recursive: true });
  const missing = Object.keys(CLIPS).filter((name) => !existsSync(join(folder, name, "manifest.mpd")));
  // Drawing is work for one processor, and so is much of packing: all titles at once.
  await Promise.all(missing.map(async (name) => {
    await pack(airlane, clips, join(packed, name), { name, size, length_s: Math.min(packed_s, length_s), chunk_s });
    if (repeats) repeated(join(packed, name), join(folder, name), length_s);
  }));
  return folder;
}

/** Draws a clip and packs it, unless that has been done. */
async function pack(airlane, clips, title, { name, size, length_s, chunk_s }) {
  if (existsSync(join(title, "manifest.mpd"))) return;
  const { width, height, rungs } = SIZES[size];
  const drawn = join(clips, `${name}-${size}.mkv`), whole = join(clips, `${name}-${size}-${length_s}s.mkv`);
  await ffmpeg(["-f", "lavfi", "-i", CLIPS[name](`${width}x${height}`), "-t", String(DRAWN_S),
    "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "12"], drawn);
  await ffmpeg(["-stream_loop", "-1", "-i", drawn, "-t", String(length_s), "-c", "copy"], whole);
  await run(airlane, ["pack", whole, title, "--quiet", "--name", name, "--title", name,
    "--rungs", rungs, "--segment", String(chunk_s), "--speed", "fast", "--vmaf-every", "7", ...withVmaf()]);
}

/** Makes a file that is not there yet: a title that was begun goes on only with the same one. */
async function ffmpeg(args, to) {
  if (existsSync(to)) return;
  const part = to.replace(/\.mkv$/, ".part.mkv");
  await run("ffmpeg", ["-v", "error", "-y", ...args, part]);
  renameSync(part, to);
}

/** The ffmpeg that `make setup` brings, since the system's as a rule cannot measure VMAF. */
function withVmaf() {
  const brought = process.env.AIRLANE_FFMPEG ?? fileURLToPath(new URL("../../target/tools/ffmpeg", import.meta.url));
  return existsSync(brought) ? ["--ffmpeg", brought] : [];
}
