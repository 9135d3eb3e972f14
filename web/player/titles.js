// The list of titles, a card each.
import { scaleOf } from "/airlane/assets/scales.js";
import { clock, format, make, mbps } from "/airlane/assets/ui.js";
import { METRICS, withOptions } from "./options.js";

/**
 * A title as the server lists it.
 * @typedef {object} Title
 * @property {string} name
 * @property {string} title
 * @property {string} manifest
 * @property {string | null} poster
 * @property {string | null} table
 * @property {number} duration_s
 * @property {number} chunk_s
 * @property {string | null} metric
 * @property {boolean} managed
 * @property {{name: string, width: number, height: number, nominal_bps: number,
 *   mean_bps: number, quality: number | null}[]} rungs
 */

/** In words: how long, how many rungs, up to what rate and quality. */
export function about(title) {
  const top = title.rungs.at(-1);
  const ladder = top
    ? `${title.rungs.length} rungs to ${top.height ? `${top.height}p, ` : ""}${format(mbps(top.mean_bps ?? top.nominal_bps), 1)} Mbit/s`
    : "no rungs known";
  return [clock(title.duration_s), ladder, qualityOf(top?.quality, title.metric)].filter(Boolean).join(" · ");
}

/** A quality with its unit, or nothing. */
function qualityOf(quality, metric) {
  if (quality === null || quality === undefined) return "";
  const { unit, digits } = scaleOf(metric);
  return `quality to ${format(quality, digits)}${unit ? ` ${unit}` : ""}`;
}

/**
 * Shows a card for each title; the one that plays is marked.
 * @param {HTMLElement} list
 * @param {Title[]} titles
 * @param {string | null} playing
 */
export function showTitles(list, titles, playing) {
  list.replaceChildren(...titles.map((title) => {
    const href = withOptions(location.href, { title: title.name, token: null, mpd: null, sid: null });
    const link = make("a", "", undefined, { href });
    if (title.name === playing) link.setAttribute("aria-current", "true");
    const text = make("span", "text");
    text.append(make("strong", "", title.title), make("span", "note", about(title)), badge(title));
    link.append(poster(title), text);
    const item = make("li");
    item.append(link);
    return item;
  }));
}

function badge(title) {
  const managed = title.managed && title.metric;
  const line = make("span");
  line.append(make("span", managed ? "badge good" : "badge",
    managed ? `managed by ${METRICS[title.metric] ?? title.metric}` : "equal shares"));
  return line;
}

function poster(title) {
  const none = () => make("span", "poster none", title.title.slice(0, 1).toUpperCase(), { "aria-hidden": "true" });
  if (!title.poster) return none();
  const image = make("img", "poster", undefined, { src: title.poster, alt: "", loading: "lazy" });
  image.addEventListener("error", () => image.replaceWith(none()));
  return image;
}
