// CMCD as it stands in requests, for tests and for the mock: keys and values, read and no more.

const FIELDS = ["cmcd-object", "cmcd-request", "cmcd-session", "cmcd-status"];

/** Text as the list of its items; commas within quotes and inner lists do not count. */
const items = (text) => text.match(/(?:"(?:\\.|[^"\\])*"|\([^)]*\)|[^,])+/g) ?? [];

/**
 * The keys of a CMCD text. Quotes are taken off, a key alone is true, and of an inner list
 * (`(900;v 64;a)`, version 2) the first value counts.
 * @param {string} text
 * @returns {Record<string, string | true>}
 */
export function keysOf(text) {
  const keys = {};
  for (const item of items(text)) {
    const [, name, value] = item.trim().match(/^([^=]*)(?:=(.*))?$/s);
    if (!name) continue;
    const first = value?.match(/^\(\s*([^\s;)]*)/)?.[1] ?? value;
    keys[name] = first === undefined ? true : first.replace(/^"(.*)"$/s, "$1").replace(/\\(.)/g, "$1");
  }
  return keys;
}

/**
 * The CMCD of a request: where it stands, and its keys. `null` if there is none.
 * @param {string} url
 * @param {Record<string, string>} headers with names in lower case
 * @returns {{mode: "query" | "header", text: string, keys: Record<string, string | true>} | null}
 */
export function cmcdOf(url, headers) {
  const query = new URL(url, "http://server").searchParams.get("CMCD");
  if (query !== null) return { mode: "query", text: query, keys: keysOf(query) };
  const text = FIELDS.map((f) => headers[f]).filter(Boolean).join(",");
  return text ? { mode: "header", text, keys: keysOf(text) } : null;
}
