// Sizes of tiles in a window. Pure.

export const ASPECT = 16 / 9;

/** Columns and width of `count` equal tiles that fill a space best. */
export function arrange(count, { width, height, gap = 10 }) {
  let best = { columns: 1, width: 0 };
  for (let columns = 1; columns <= Math.max(1, count); columns += 1) {
    const rows = Math.ceil(count / columns);
    const byWidth = (width - gap * (columns - 1)) / columns;
    const byHeight = ((height - gap * (rows - 1)) / rows) * ASPECT;
    const tile = Math.floor(Math.min(byWidth, byHeight));
    if (tile > best.width) best = { columns, width: tile };
  }
  return best;
}

/** Widths with one big tile, such as a screen, above the others in one row. */
export function arrangeWithBig(others, { width, height, gap = 10 }) {
  if (others === 0) return { big: arrange(1, { width, height, gap }).width, width: 0 };
  const strip = Math.min(height * 0.24, ((width - gap * (others - 1)) / others) / ASPECT);
  const big = Math.floor(Math.min(width, (height - strip - gap) * ASPECT));
  return { big, width: Math.floor(strip * ASPECT) };
}
