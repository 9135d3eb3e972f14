// Headless Chromium for tests and for the story: which flags, and what to do where there is none.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

/** Without these a headless Chromium asks the network for things of its own, or waits for a click. */
export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
  // Four browsers on one machine: none is to be slowed down for not being in front.
  "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
];

/** How long anything may take in a page, milliseconds: generous, a machine may be busy. */
const PATIENCE_MS = 90_000;

/** The browser's path: `AIRLANE_CHROMIUM`, or `chromium` on the PATH; `null` if there is none. */
export function findChromium() {
  const asked = process.env.AIRLANE_CHROMIUM;
  if (asked) return existsSync(asked) ? asked : null;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const names = ["chromium", "chromium-browser"];
  return folders.flatMap((f) => names.map((n) => join(f, n))).find((p) => existsSync(p)) ?? null;
}

/**
 * The reason why browser tests cannot run here, or `null`. With `AIRLANE_STRICT=1`, as CI has it,
 * a missing browser is an error instead.
 */
export function whyNoBrowser() {
  if (findChromium()) return null;
  const reason = "no chromium on the PATH: `make setup` installs it, or set AIRLANE_CHROMIUM";
  if (process.env.AIRLANE_STRICT === "1") throw new Error(reason);
  return reason;
}

/**
 * Starts a browser.
 * @param {{quic?: string | null, spki?: string | null, resolve?: string | null}} options quic is
 *   the `HOST:PORT` that is to be asked over HTTP/3 from the first request on; spki the base64 hash
 *   of the key of a certificate that is not otherwise trusted; resolve rules for host names
 */
export async function launch({ quic = null, spki = null, resolve = null } = {}) {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no chromium on the PATH");
  const args = [...FLAGS];
  if (quic) args.push("--enable-quic", `--origin-to-force-quic-on=${quic}`);
  if (spki) args.push(`--ignore-certificate-errors-spki-list=${spki}`);
  if (resolve) args.push(`--host-resolver-rules=${resolve}`);
  return chromium.launch({ executablePath, args, headless: true });
}

/**
 * Opens a page that is to work without a fault: errors of scripts and of the console are kept.
 * @param {import("playwright-core").Browser} browser
 * @param {import("playwright-core").BrowserContextOptions} options
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  return { page, context, faults };
}
