// What the pages of the unchanged players share: what they are asked to play.

const given = new URLSearchParams(location.search);

export const video = /** @type {HTMLVideoElement} */ (document.getElementById("video"));

export const query = {
  /** Absolute addresses of the manifests. */
  dash: given.get("dash"),
  hls: given.get("hls"),
  sid: given.get("sid"),
  cid: given.get("cid"),
  /** CMCD in header fields instead of the query. */
  headers: given.get("cmcd") === "header",
  version: Number(given.get("cmcdv") ?? 1),
  /** Where version 2 posts its reports to. */
  events: given.get("events"),
};

/** Different rates, rising. */
export const ladder = (rates) => [...new Set(rates)].sort((a, b) => a - b);
