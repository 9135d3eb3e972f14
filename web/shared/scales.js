// The scales of measures of quality: in which unit they are shown, and over which range.

/** How a measure is shown, by its name in tables (docs/reference/chunk-tables.md). */
const SCALES = {
  psnr_db: { unit: "dB", atLeast: [20, 50], digits: 1 },
  ssim: { unit: "", atLeast: [0, 1], digits: 3 },
};
/** VMAF's points, and what has no table: the utility of a rate on the same scale. */
const POINTS = { unit: "points", atLeast: [0, 100], digits: 1 };

/**
 * The scale of a measure; that of VMAF for none.
 * @param {string | null | undefined} metric such as `psnr_db`
 * @returns {{unit: string, atLeast: [number, number], digits: number}}
 */
export const scaleOf = (metric) => SCALES[metric ?? ""] ?? POINTS;
