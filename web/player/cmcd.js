// CMCD as the player page sends it: dash.js's own, with our keys added to each report.

/** Keys of a list in CMCD's text form; commas within quotes do not count. */
const items = (text) => text.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) ?? [];

/** A value as CMCD writes it: texts in quotes, numbers without. */
const written = (value) => (typeof value === "number" ? String(value) : `"${value.replace(/["\\]/g, "\\$&")}"`);

/** @typedef {Record<string, string | number>} Keys values by name, texts without quotes */

/**
 * A CMCD text with further keys, in the order of the alphabet as CTA-5004 recommends.
 * @param {string} text such as `bl=1200,su`
 * @param {Keys} keys
 */
export function withKeys(text, keys) {
  const added = Object.entries(keys).map(([name, value]) => `${name}=${written(value)}`);
  const name = (item) => item.split("=", 1)[0];
  return [...items(text), ...added]
    .sort((a, b) => (name(a) < name(b) ? -1 : Number(name(a) > name(b))))
    .join(",");
}

/**
 * A request interceptor of dash.js that adds keys to the CMCD that is there already, be it in the
 * query or in a header. A request without CMCD stays as it is. Interceptors run in the order in
 * which they were added, and dash.js's own, which writes the CMCD, is the first.
 * @param {() => Keys} keysNow
 */
export function keyInterceptor(keysNow) {
  return (request) => {
    const keys = keysNow();
    const url = new URL(request.url, location.href);
    const inQuery = url.searchParams.get("CMCD");
    const header = Object.keys(request.headers ?? {}).find((h) => h.toLowerCase() === "cmcd-session");
    if (inQuery !== null) {
      url.searchParams.set("CMCD", withKeys(inQuery, keys));
      request.url = url.href;
    } else if (header !== undefined) {
      request.headers[header] = withKeys(request.headers[header], keys);
    }
    return Promise.resolve(request);
  };
}

/** Keys that version 2's event reports carry: what tells a server how the viewer fares. */
const EVENT_KEYS = ["bg", "bl", "br", "bs", "bsd", "cid", "e", "mtp", "pr", "sid", "sn", "sta", "ts", "v"];
/** Seconds between reports while nothing happens. */
const REPORT_EVERY_S = 5;

/**
 * dash.js's settings for CMCD.
 * @param {{mode: string, version: number, sid: string, cid: string, events: string}} options
 *   mode `query`, `header` or `off`; `events` is where version 2 posts its reports to
 */
export function cmcdSettings({ mode, version, sid, cid, events }) {
  if (mode === "off") return { streaming: { cmcd: { enabled: false } } };
  return {
    streaming: {
      cmcd: {
        enabled: true, version, sid, cid,
        mode: mode === "header" ? "headers" : "query",
        includeInRequests: ["segment", "mpd"],
        eventTargets: version === 2 ? [{
          enabled: true, url: events, events: ["ps", "e", "t"], interval: REPORT_EVERY_S,
          batchSize: 1, enabledKeys: EVENT_KEYS,
        }] : [],
      },
    },
  };
}
