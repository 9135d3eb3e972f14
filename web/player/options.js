// What the page is asked to do: everything stands in the address, so that a link can be shared.

export const RULES = {
  mpc: "Airlane's MPC",
  bola: "dash.js: BOLA",
  dynamic: "dash.js: dynamic",
};
/** Measures of quality, by the device or the scale that they stand for. */
export const METRICS = {
  vmaf: "VMAF, television", vmaf_phone: "VMAF, phone", vmaf_4k: "VMAF, 4K television",
  psnr_db: "PSNR, dB", ssim: "SSIM",
};
const CMCD_MODES = ["query", "header", "off"];

/**
 * @typedef {object} Options
 * @property {string | null} title name of a title of the server
 * @property {string | null} token what allows the title's files, where its server wants a signature
 * @property {string | null} mpd address of any other manifest
 * @property {string | null} media origin that titles are fetched from; this page's if there is none
 * @property {"mpc" | "bola" | "dynamic"} abr
 * @property {string | null} sid session identifier; a new one if there is none
 * @property {"query" | "header" | "off"} cmcd
 * @property {1 | 2} version of CMCD
 * @property {string | null} metric measure of quality that the device asks for
 * @property {boolean} muted
 * @property {boolean} autoplay
 * @property {boolean} bare the picture alone, for frames and for measurements
 */

/**
 * Reads the query of an address. What it does not know counts as not said.
 * @param {string} search
 * @returns {Options}
 */
export function readOptions(search) {
  const query = new URLSearchParams(search);
  const oneOf = (name, known, otherwise) => {
    const value = query.get(name);
    return value !== null && known.includes(value) ? value : otherwise;
  };
  const yes = (name, otherwise) => {
    const value = query.get(name);
    return value === null ? otherwise : !["0", "false", "no"].includes(value);
  };
  return /** @type {Options} */ ({
    title: query.get("title") || null,
    token: query.get("token") || null,
    mpd: query.get("mpd") || null,
    media: originOf(query.get("media")),
    abr: oneOf("abr", Object.keys(RULES), "mpc"),
    sid: query.get("sid") || null,
    cmcd: oneOf("cmcd", CMCD_MODES, "query"),
    version: query.get("cmcdv") === "2" ? 2 : 1,
    metric: oneOf("metric", Object.keys(METRICS), null),
    muted: yes("muted", false),
    autoplay: yes("autoplay", true),
    bare: yes("bare", false),
  });
}

/** The origin of an address, if it is one. */
function originOf(address) {
  try {
    const url = new URL(address ?? "");
    return ["https:", "http:"].includes(url.protocol) ? url.origin : null;
  } catch {
    return null;
  }
}

/** The address of this page with some of its arguments changed; null takes one away. */
export function withOptions(href, changes) {
  const url = new URL(href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) url.searchParams.delete(name); else url.searchParams.set(name, value);
  }
  return url.href;
}
