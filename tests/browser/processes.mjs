// Programs that the story starts: until they are ready, what they said, and their end.
import { spawn } from "node:child_process";
import { request } from "node:https";

/** How long a program may take until it is ready, milliseconds. */
const READY_WITHIN_MS = 60_000;
/** How long it may take to end after SIGINT. */
const END_WITHIN_MS = 15_000;

/**
 * Starts a program that prints a line beginning with `ready:` once it serves.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<{ready: string, said: () => string, stop: () => Promise<string>}>} `said` is all
 *   that it printed so far, `stop` ends it and gives the rest too
 */
export async function startReady(program, args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const ended = new Promise((resolve) => child.once("close", resolve));
  const ready = await new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${program} ${args.join(" ")}: ${why}\n${said}`));
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail("not ready in time");
    }, READY_WITHIN_MS);
    const listen = (data) => {
      said += data;
      const line = said.match(/^ready:.*$/m);
      if (!line) return;
      clearTimeout(timer);
      resolve(line[0]);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("error", (error) => fail(error.message));
    child.once("close", (code) => fail(`ended with code ${code}`));
  });
  return {
    ready, said: () => said,
    stop: async () => {
      child.kill("SIGINT");
      const timer = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
      await ended;
      clearTimeout(timer);
      return said;
    },
  };
}

/** Runs a program to its end; an error has what it said last. */
export async function run(program, args) {
  const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ended with code ${code}`);
}

/** JSON over HTTPS of a server of our own, whose certificate nobody vouches for. */
export function ownJson(url) {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (part) => { text += part; });
      reply.on("end", () => {
        if (reply.statusCode !== 200) reject(new Error(`${url}: ${reply.statusCode}`));
        else resolve(JSON.parse(text));
      });
    }).on("error", reject).end();
  });
}
