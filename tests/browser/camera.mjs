// A camera's pictures for a browser: a texture that moves, so that encoders need the bitrate that they are given.
import { closeSync, openSync, writeSync } from "node:fs";

/** Frames of the camera per second. */
export const FRAME_RATE = 25;
const WIDTH = 640, HEIGHT = 360, SECONDS = 8;
/** Size of the texture, and of its finest squares, pixels. */
const TEXTURE = 1024, FINEST = 4;

/** Random numbers from 0 to 1, the same each time. */
function* randoms(state = 1) {
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Squares of several sizes on each other, brightness from 16 to 235. */
function texture() {
  const random = randoms();
  const sum = new Float32Array(TEXTURE * TEXTURE);
  for (let size = FINEST, weight = 12; size <= TEXTURE / 4; size *= 2, weight *= 1.2) {
    const across = TEXTURE / size;
    const squares = Float32Array.from({ length: across * across }, () => (random.next().value - 0.5) * weight);
    for (let y = 0; y < TEXTURE; y += 1) {
      const row = Math.floor(y / size) * across;
      for (let x = 0; x < TEXTURE; x += 1) sum[y * TEXTURE + x] += squares[row + Math.floor(x / size)];
    }
  }
  return Uint8Array.from(sum, (value) => Math.max(16, Math.min(235, 125 + value * 1.6)));
}

/** Writes the file (YUV4MPEG2, 4:2:0), which a browser shows again and again. */
export function writeCamera(path) {
  const picture = texture();
  const file = openSync(path, "w");
  writeSync(file, `YUV4MPEG2 W${WIDTH} H${HEIGHT} F${FRAME_RATE}:1 Ip A1:1 C420jpeg\n`);
  const frames = SECONDS * FRAME_RATE;
  const frame = Buffer.alloc(WIDTH * HEIGHT * 1.5, 128);
  for (let n = 0; n < frames; n += 1) {
    // A closed curve: the first picture follows the last one.
    const angle = (2 * Math.PI * n) / frames;
    const left = Math.round(190 * (1 + Math.sin(angle))), top = Math.round(330 * (1 + Math.sin(2 * angle)) / 2);
    for (let y = 0; y < HEIGHT; y += 1) {
      const from = (top + y) * TEXTURE + left;
      frame.set(picture.subarray(from, from + WIDTH), y * WIDTH);
    }
    writeSync(file, "FRAME\n");
    writeSync(file, frame);
  }
  closeSync(file);
}
