// Two small titles made by ffmpeg, for developing the pages without the server: pictures that cost
// bits, four rungs, one with sound. Made once, kept in target/browser-mock.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../processes.mjs";

const CHUNK_S = 4, DURATION_S = 60, FPS = 24;
const RUNGS = [[320, 180, 250], [480, 270, 600], [640, 360, 1200], [854, 480, 2400]]
  .map(([width, height, kbps]) => ({ name: `${height}p-${kbps}k`, width, height, nominal_bps: kbps * 1000 }));
const TOP = `${RUNGS.at(-1).width}x${RUNGS.at(-1).height}`;

// The walk is drawn small: each of its points takes long.
const TITLES = [
  { name: "bars", title: "Test bars with a tone", picture: `testsrc2=s=${TOP}:r=${FPS}`, sound: true, half_bps: 5e5 },
  { name: "zoom", title: "A walk into the Mandelbrot set", picture: `mandelbrot=s=214x120:r=${FPS},scale=${TOP.replace("x", ":")}`, sound: false, half_bps: 9e5 },
];

/**
 * Makes what is not there yet; the titles as the server lists them. Two processes must not make
 * titles at one time: see make-titles.mjs.
 */
export async function content(folder) {
  // To draw one is work for one processor.
  return Promise.all(TITLES.map(async (what) => {
    const path = join(folder, what.name);
    if (!existsSync(join(path, "quality.json"))) await make(path, what);
    return listed(what);
  }));
}

function listed({ name, title, half_bps }) {
  return {
    name, title, manifest: `/${name}/manifest.mpd`, hls: `/${name}/master.m3u8`,
    poster: `/${name}/poster.jpg`, table: `/${name}/quality.json`,
    duration_s: DURATION_S, chunk_s: CHUNK_S, metric: "vmaf", managed: true,
    rungs: RUNGS.map((r) => ({ ...r, mean_bps: r.nominal_bps, quality: quality(r.nominal_bps, half_bps, 0) })),
  };
}

const quality = (bps, half_bps, chunk) =>
  Math.min(100, 100 * bps / (bps + half_bps) + 4 * Math.sin(chunk));

async function make(path, what) {
  console.error(`making ${path} with ffmpeg`);
  const work = `${path}.part`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const gop = String(CHUNK_S * FPS);
  const picture = `${what.picture},noise=alls=14:allf=t,format=yuv420p`;
  const ffmpeg = (args) => run("ffmpeg", ["-v", "error", "-y", ...args], work);
  await ffmpeg(["-f", "lavfi", "-i", picture, "-frames:v", "1", "-ss", "3", "-q:v", "4", "poster.jpg"]);
  await ffmpeg([
    "-f", "lavfi", "-i", picture,
    ...(what.sound ? ["-f", "lavfi", "-i", "sine=frequency=220:beep_factor=4,volume=0.2"] : []),
    "-t", String(DURATION_S),
    ...RUNGS.flatMap((r, i) => [
      "-map", "0:v", `-s:v:${i}`, `${r.width}x${r.height}`, `-b:v:${i}`, String(r.nominal_bps),
      `-maxrate:v:${i}`, String(r.nominal_bps * 1.2), `-bufsize:v:${i}`, String(r.nominal_bps),
    ]),
    ...(what.sound ? ["-map", "1:a", "-c:a", "aac", "-b:a", "64k"] : []),
    "-c:v", "libx264", "-preset", "ultrafast", "-g", gop, "-keyint_min", gop, "-sc_threshold", "0",
    "-f", "dash", "-seg_duration", String(CHUNK_S), "-use_template", "1", "-use_timeline", "0",
    "-adaptation_sets", `id=0,streams=v${what.sound ? " id=1,streams=a" : ""}`,
    "-hls_playlist", "1", "-hls_master_name", "master.m3u8",
    "-init_seg_name", "init-$RepresentationID$.m4s", "-media_seg_name", "chunk-$RepresentationID$-$Number$.m4s",
    "manifest.mpd",
  ]);
  writeFileSync(join(work, "quality.json"), JSON.stringify(table(work, what)));
  rmSync(path, { recursive: true, force: true });
  renameSync(work, path);
}

/** The quality table of what ffmpeg wrote: sizes as they are, qualities made up. */
function table(folder, what) {
  const sizes = (rung) => readdirSync(folder)
    .map((f) => f.match(`^chunk-${rung}-([0-9]+)\\.m4s$`)).filter((m) => m !== null)
    .sort((a, b) => Number(a[1]) - Number(b[1])).map((m) => statSync(join(folder, m[0])).size);
  return {
    format: "airlane-chunks", version: 1, video: what.name, title: what.title, chunk_s: CHUNK_S,
    rungs: RUNGS.map((r, i) => ({
      ...r, size_bytes: sizes(i),
      quality: { vmaf: sizes(i).map((_, chunk) => quality(r.nominal_bps, what.half_bps, chunk)) },
    })),
  };
}
