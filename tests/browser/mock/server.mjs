// The server's side of the pages over plain HTTP, for developing them: `npm run mock`.
//
//     node mock/server.mjs [--port 8090] [--rate-bps 4e6] [--fake 5] [--empty]
//
// It has the paths of `airlane serve` and nothing of its transport; tests for CI run against the
// real one.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { cmcdOf, keysOf } from "../cmcd.mjs";
import { content } from "./content.mjs";
import { MockSessions } from "./sessions.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const TYPES = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8", ".json": "application/json", ".mpd": "application/dash+xml",
  ".m3u8": "application/vnd.apple.mpegurl", ".m4s": "video/iso.segment", ".mp4": "video/mp4", ".jpg": "image/jpeg",
};
const SLICE_BYTES = 8192;

/**
 * @param {{port?: number, rate_bps?: number | null, fake?: number, empty?: boolean}} options
 *   rate_bps is what all answers together get
 * @returns {Promise<{url: string, admin: string, close: () => Promise<void>}>}
 */
export async function startMock({ port = 0, rate_bps = null, fake = 0, empty = false } = {}) {
  const folder = join(root, "target/browser-mock");
  const titles = empty ? [] : await content(folder);
  const sessions = new MockSessions(fake);
  const clock = setInterval(() => sessions.tick(), 1000);
  const gate = rate_bps === null ? null : new Gate(rate_bps);
  const server = createServer((request, reply) => {
    reply.setHeader("Access-Control-Allow-Origin", "*");
    answer(request, reply, { folder, titles, sessions, gate }).catch((error) => {
      console.error(error);
      if (!reply.headersSent) reply.writeHead(500);
      reply.end();
    });
  });
  await new Promise((listening) => server.listen(port, "127.0.0.1", () => listening(undefined)));
  const url = `http://localhost:${server.address().port}`;
  return {
    url, admin: url,
    close: () => new Promise((closed) => {
      clearInterval(clock);
      server.closeAllConnections();
      server.close(() => closed(undefined));
    }),
  };
}

async function answer(request, reply, { folder, titles, sessions, gate }) {
  const url = new URL(request.url, "http://server");
  const path = decodeURIComponent(url.pathname);
  const json = (value) => send(reply, 200, "application/json", JSON.stringify(value));
  if (request.method === "OPTIONS") {
    reply.writeHead(204, { "Access-Control-Allow-Headers": "*", "Access-Control-Allow-Methods": "*" }).end();
  } else if (path === "/airlane/cmcd") {
    let body = "";
    for await (const part of request) body += part;
    for (const line of body.split("\n").filter(Boolean)) sessions.said(keysOf(line), request.socket, null);
    reply.writeHead(204).end();
  } else if (path === "/airlane/titles") json({ titles });
  else if (path === "/airlane/title") {
    const title = titles.find((t) => t.name === url.searchParams.get("name"));
    if (title) json({ ...title, listed: true }); else reply.writeHead(404).end();
  } else if (path === "/airlane/sessions" || path === "/airlane/session") {
    // The token of a session is its id.
    const id = url.searchParams.get(path.endsWith("s") ? "sid" : "token");
    json(sessions.answer(id, Number(url.searchParams.get("since") ?? 0)));
  } else if (path === "/" || path === "/airlane/player") sendFile(reply, "web/player/index.html");
  else if (path === "/airlane/") sendFile(reply, "web/live/index.html");
  else if (path.startsWith("/airlane/assets/")) {
    const assets = JSON.parse(readFileSync(join(root, "web/assets.json"), "utf8"));
    const asset = assets[path.slice("/airlane/assets/".length)];
    if (asset) sendFile(reply, `web/${asset}`); else reply.writeHead(404).end();
  } else {
    const title = titles.find((t) => path.startsWith(`/${t.name}/`));
    const cmcd = cmcdOf(request.url, request.headers);
    const session = cmcd && sessions.said(cmcd.keys, request.socket, title);
    if (cmcd?.keys.sid) reply.setHeader("Airlane-Session", cmcd.keys.sid);
    await sendObject(request, reply, join(folder, normalize(path)), (bytes) => {
      if (session) sessions.sent(session, bytes);
    }, gate);
  }
}

function send(reply, status, type, body) {
  reply.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" }).end(body);
}

function sendFile(reply, name) {
  send(reply, 200, TYPES[extname(name)], readFileSync(join(root, name)));
}

/** An object of a title, whole or a range of it, at the rate of the gate. */
async function sendObject(request, reply, path, sent, gate) {
  if (!existsSync(path) || !statSync(path).isFile()) {
    reply.writeHead(404).end();
    return;
  }
  const size = statSync(path).size;
  const range = request.headers.range?.match(/^bytes=(\d+)-(\d*)$/);
  const start = range ? Number(range[1]) : 0;
  const end = range?.[2] ? Math.min(Number(range[2]), size - 1) : size - 1;
  reply.writeHead(range ? 206 : 200, {
    "Content-Type": TYPES[extname(path)] ?? "application/octet-stream", "Content-Length": end - start + 1,
    "CMSD-Dynamic": '"airlane";etp=4000;mb=3000',
    ...(range ? { "Content-Range": `bytes ${start}-${end}/${size}` } : {}),
  });
  for await (const part of createReadStream(path, { start, end, highWaterMark: SLICE_BYTES })) {
    if (gate) await gate.pass(part.length);
    if (reply.destroyed) return;
    sent(part.length);
    if (!reply.write(part)) await new Promise((drained) => {
      reply.once("drain", drained);
      reply.once("close", drained);
    });
  }
  reply.end();
}

/** Lets bytes through at a rate, first come, first served. */
class Gate {
  constructor(bps) {
    this.bps = bps;
    this.free_ms = 0;
  }

  pass(bytes) {
    const now = performance.now();
    this.free_ms = Math.max(this.free_ms, now) + bytes * 8e3 / this.bps;
    return new Promise((passed) => setTimeout(passed, this.free_ms - now));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name) => {
    const i = process.argv.indexOf(name);
    return i < 0 ? null : process.argv[i + 1];
  };
  const { url } = await startMock({
    port: Number(option("--port") ?? 8090), rate_bps: option("--rate-bps") && Number(option("--rate-bps")),
    fake: Number(option("--fake") ?? 0), empty: process.argv.includes("--empty"),
  });
  console.log(url);
}
