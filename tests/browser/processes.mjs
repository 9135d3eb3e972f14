// Programs that the story starts: until they are ready, what they said, and their end.
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { request } from "node:https";

/** How long a program may take until it is ready, milliseconds. */
const READY_WITHIN_MS = 60_000;
/** How long it may take to end after SIGINT. */
const END_WITHIN_MS = 15_000;

/**
 * Starts a program, and waits until it has said what a server says once it serves.
 * @param {string} program
 * @param {string[]} args
 * @param {RegExp[]} expected each of which is found in its output, in either stream
 * @returns {Promise<{said: string[], stop: () => Promise<unknown>}>} of each the first group
 */
export async function startReady(program, args, expected) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const ended = new Promise((resolve) => child.once("close", resolve));
  const said = await new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${program} ${args.join(" ")}: ${why}\n${output}`));
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail("not ready in time");
    }, READY_WITHIN_MS);
    const listen = (data) => {
      output += data;
      const found = expected.map((pattern) => output.match(pattern)?.[1]);
      if (found.includes(undefined)) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.once("error", (error) => fail(error.message));
    child.once("close", (code) => fail(`ended with code ${code}`));
  });
  return {
    said,
    stop: async () => {
      child.kill("SIGINT");
      const timer = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** A UDP port of 127.0.0.1 that nobody has, for a program that starts later. */
export async function freeUdpPort() {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}

/** Runs a program to its end, in a folder; what it prints goes where ours goes. */
export async function run(program, args, cwd = ".") {
  const child = spawn(program, args, { cwd, stdio: ["ignore", "inherit", "inherit"] });
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
