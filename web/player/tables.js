// What the rule knows of a title: its quality table where there is one, else its rates.
import { settingOfRates, settingOfTable } from "./mpc.js";

/**
 * The tables for the ladder that a manifest has.
 *
 * Rungs of the table go by their names where the manifest calls its representations the same, and
 * by their order where both have the same number. Otherwise only the rates count.
 *
 * @param {any} table the title's quality table, or null
 * @param {string} metric
 * @param {{id: string, bandwidth: number, segmentDuration: number}[]} ladder by rising rate
 * @param {{duration_s: number, chunk_s: number}} length for titles without a table
 * @returns {import("./mpc.js").Setting}
 */
export function settingFor(table, metric, ladder, length) {
  const rungs = rungsOf(table, ladder);
  if (rungs !== null && rungs.every((r) => r.quality[metric])) {
    return settingOfTable({ ...table, rungs }, metric);
  }
  const chunks = Math.max(1, Math.ceil(length.duration_s / length.chunk_s - 1e-6));
  return settingOfRates(ladder.map((r) => r.bandwidth), chunks, length.chunk_s);
}

function rungsOf(table, ladder) {
  if (table === null) return null;
  const named = ladder.map((r) => table.rungs.find((t) => t.name === r.id));
  if (named.every((r) => r !== undefined)) return named;
  return table.rungs.length === ladder.length ? table.rungs : null;
}

/** The metric to plan by: the one that was asked for, else VMAF, else the first of the table. */
export function metricOf(table, asked) {
  const known = Object.keys(table?.rungs[0]?.quality ?? {});
  return [asked, "vmaf", known[0]].find((m) => known.includes(m)) ?? "vmaf";
}
