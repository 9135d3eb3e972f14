// The server that tests run against: one that runs already (`AIRLANE_URL`), one that is started for
// them (`AIRLANE_BIN`, the program `airlane`), or the mock.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { content } from "./mock/content.mjs";
import { startMock } from "./mock/server.mjs";
import { startReady } from "./processes.mjs";

/** What all that the mock sends gets; enough for the top rung, and not at once. */
const MOCK_BPS = 6e6;
/**
 * The name of servers that we start: browsers try two addresses for `localhost`, and these listen
 * on one.
 */
export const HOST = "airlane.test";

/**
 * @typedef {object} Server
 * @property {string} url
 * @property {string} admin where its operator looks
 * @property {string | null} quic what to ask over HTTP/3 from the first request on
 * @property {string | null} spki hash of the key of its certificate
 * @property {string | null} resolve rules for host names
 * @property {() => Promise<unknown>} close
 */

/** @returns {Promise<Server>} */
export async function serverUnderTest() {
  const { AIRLANE_URL, AIRLANE_BIN, AIRLANE_QUIC = null, AIRLANE_SPKI = null } = process.env;
  if (AIRLANE_URL) {
    const { AIRLANE_ADMIN = "http://127.0.0.1:4434" } = process.env;
    return { url: AIRLANE_URL.replace(/\/$/, ""), admin: AIRLANE_ADMIN.replace(/\/$/, ""), quic: AIRLANE_QUIC, spki: AIRLANE_SPKI, resolve: null, close: async () => {} };
  }
  if (AIRLANE_BIN) return startServer(AIRLANE_BIN, await generatedTitles(), ["--list-titles"]);
  return { quic: null, spki: null, resolve: null, ...await startMock({ rate_bps: MOCK_BPS }) };
}

/**
 * Starts `airlane serve` on a free port.
 * @param {string} program
 * @param {string} folder of titles
 * @param {string[]} more options
 * @returns {Promise<Server & {direct: string}>} `direct` is its address and port
 */
export async function startServer(program, folder, more) {
  const args = ["serve", folder, "--listen", "127.0.0.1:0", ...more];
  const { said: [direct, admin, spki], stop } = await startReady(program, args,
    [/^ready: https:\/\/([^/\s]+)/m, /^ready: .* admin=(http:\/\/[^/\s]+)/m, /public key SHA-256:\s*(\S+)/]);
  const quic = `${HOST}:${direct.split(":").at(-1)}`;
  return { url: `https://${quic}`, admin, quic, spki, resolve: `MAP ${HOST} 127.0.0.1`, direct, close: stop };
}

/** The folder of the mock's titles, which ffmpeg makes where they are missing. */
export async function generatedTitles() {
  const folder = fileURLToPath(new URL("../../target/browser-mock", import.meta.url));
  mkdirSync(folder, { recursive: true });
  await content(folder);
  return folder;
}

/** JSON of the server, as its operator reads it. */
export async function adminJson(server, path) {
  const reply = await fetch(server.admin + path);
  if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
  return reply.json();
}

/** JSON of the server, asked by a page of it, which trusts its certificate. */
export const jsonOf = (page, path) => page.evaluate(async (p) => (await fetch(p)).json(), path);
