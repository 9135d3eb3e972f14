// Titles for the story where nobody gave any: four generated clips, packed by `airlane pack`.
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { run } from "./processes.mjs";

/** Seconds of each clip. */
const LENGTH_S = 180;
const SIZE = "1280x720", FPS = 24;

/** Pictures of different difficulty: still with text, drifting, growing, restless. */
const CLIPS = {
  gradients: `gradients=s=${SIZE}:r=${FPS}:speed=0.01:seed=1`,
  mandelbrot: `mandelbrot=s=${SIZE}:r=${FPS}`,
  bars: `testsrc2=s=${SIZE}:r=${FPS}`,
  life: `life=s=320x180:r=${FPS}:seed=1:mold=10,scale=${SIZE.replace("x", ":")}:flags=neighbor`,
};

/**
 * Makes what is not there yet.
 * @param {string} airlane the program
 * @param {string} out the story's folder: clips go to `clips`, titles to `titles`
 * @returns {Promise<string>} the folder of titles
 */
export async function storyTitles(airlane, out) {
  const clips = join(out, "clips"), folder = join(out, "titles");
  for (const made of [clips, folder]) mkdirSync(made, { recursive: true });
  for (const [name, picture] of Object.entries(CLIPS)) {
    const title = join(folder, name);
    if (existsSync(join(title, "manifest.mpd"))) continue;
    const clip = join(clips, `${name}.mkv`), part = join(clips, `${name}.part.mkv`);
    if (!existsSync(clip)) {
      await run("ffmpeg", [
        "-v", "error", "-y", "-f", "lavfi", "-i", picture, "-t", String(LENGTH_S), "-pix_fmt", "yuv420p",
        "-c:v", "libx264", "-preset", "veryfast", "-crf", "12", part,
      ]);
      renameSync(part, clip);
    }
    await run(airlane, ["pack", clip, title]);
  }
  return folder;
}
