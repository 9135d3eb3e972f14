// Serves the pages of the unchanged players: `/pages/`, the npm packages under `/npm/`, and our own
// scripts under `/web/`. Titles come from the server under test, across origins.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const FOLDERS = { "/pages/": join(here, "pages"), "/npm/": join(here, "node_modules"), "/web/": join(here, "../../web") };
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8" };

/** @returns {Promise<{url: string, close: () => Promise<void>}>} */
export async function servePages() {
  const server = createServer((request, reply) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://pages").pathname));
    const prefix = Object.keys(FOLDERS).find((p) => path.startsWith(p));
    const file = prefix && join(FOLDERS[prefix], path.slice(prefix.length));
    const type = file && TYPES[extname(file)];
    if (!type || !existsSync(file) || !statSync(file).isFile()) {
      reply.writeHead(404).end();
      return;
    }
    reply.writeHead(200, { "Content-Type": type });
    createReadStream(file).pipe(reply);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", () => listening(undefined)));
  return {
    url: `http://localhost:${server.address().port}`,
    close: () => new Promise((closed) => {
      server.closeAllConnections();
      server.close(() => closed(undefined));
    }),
  };
}

/**
 * The address of a page that plays a title.
 * @param {string} pages where they are served
 * @param {"dash" | "shaka" | "hls"} player
 * @param {string} server the server under test
 * @param {any} title as `/airlane/titles` lists it
 * @param {Record<string, string>} more further arguments, such as `cmcd`
 */
export function pageAddress(pages, player, server, title, more) {
  const url = new URL(`/pages/${player}.html`, pages);
  if (player !== "hls") url.searchParams.set("dash", new URL(title.manifest, server).href);
  if (title.hls) url.searchParams.set("hls", new URL(title.hls, server).href);
  for (const [name, value] of Object.entries({ cid: title.name, ...more })) url.searchParams.set(name, value);
  return url.href;
}
