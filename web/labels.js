// Places the labels of points in a plane so that none covers another.
"use strict";

/**
 * Finds a place for the label of every point.
 *
 * Labels keep clear of each other, of all points and of `taken`; they avoid `lines`, and stay near
 * their points. The same input gives the same places.
 *
 * @param {{x: number, y: number, width: number, height: number}[]} points with the sizes of labels
 * @param {{width: number, height: number}} plane labels lie within it
 * @param {{x: number, y: number, width: number, height: number}[]} taken boxes by their upper left
 *   corners
 * @param {[number, number, number, number][]} lines from x, y to x, y
 * @returns {{x: number, y: number, far: boolean, clear: boolean}[]} the upper left corners; whether a
 *   label is so far from its point that a line has to join them; and whether it covers nothing
 */
function airlaneLabels(points, plane, taken, lines) {
  const MARK = 7, AIR = 2, ROUNDS = 12;
  const RADII = [9, 13, 18, 25, 34, 45, 58, 74, 92, 114, 140];
  // To the right first, then to the left, above, below and between.
  const ANGLES = [0, 4, 12, 6, 2, 14, 10, 8, 1, 15, 7, 9, 3, 13, 5, 11];
  const FAR = 20;

  const box = (x, y, { width, height }) => ({ x, y, width, height });
  /** By how much two boxes cover each other, in square pixels; `air` is kept between them. */
  const cover = (a, b, air) => {
    const w = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x) + air;
    const h = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y) + air;
    return w > 0 && h > 0 ? w * h : 0;
  };
  const marks = points.map((p) =>
    ({ x: p.x - MARK, y: p.y - MARK, width: 2 * MARK, height: 2 * MARK }));

  /** Whether a line meets a box (Liang and Barsky). */
  const meets = ([x0, y0, x1, y1], b) => {
    let from = 0, to = 1;
    for (const [d, low, high] of [[x1 - x0, b.x - x0, b.x + b.width - x0],
      [y1 - y0, b.y - y0, b.y + b.height - y0]]) {
      if (d === 0) {
        if (low > 0 || high < 0) return false;
        continue;
      }
      const [a, c] = d > 0 ? [low / d, high / d] : [high / d, low / d];
      from = Math.max(from, a);
      to = Math.min(to, c);
      if (from > to) return false;
    }
    return true;
  };
  /** From a point to the nearest place of its label. */
  const leader = (p, b) => [p.x, p.y,
    Math.min(Math.max(p.x, b.x), b.x + b.width), Math.min(Math.max(p.y, b.y), b.y + b.height)];

  /** Where the label of a point may be, each place with what it costs by itself. */
  const candidates = points.map((p, i) => {
    const found = [];
    for (const radius of RADII) {
      ANGLES.forEach((angle, rank) => {
        const a = angle * Math.PI / 8;
        const b = box(p.x + Math.cos(a) * (radius + p.width / 2) - p.width / 2,
          p.y - Math.sin(a) * (radius + p.height / 2) - p.height / 2, p);
        if (b.x < 0 || b.y < 0 || b.x + b.width > plane.width || b.y + b.height > plane.height) return;
        let cost = radius + rank * .3;
        let covers = 0;
        marks.forEach((m) => { covers += cover(b, m, 0); });
        for (const t of taken) covers += cover(b, t, AIR);
        for (const line of lines) if (meets(line, b)) cost += 8;
        const join = radius > FAR ? leader(p, b) : null;
        if (join) marks.forEach((m, k) => { if (k !== i && meets(join, m)) cost += 60; });
        found.push({ b, join, cost: cost + 40 * covers, covers });
      });
    }
    return found;
  });

  const chosen = points.map(() => null);
  const costOf = (i, c) => {
    let cost = c.cost;
    for (let k = 0; k < points.length; k++) {
      const other = chosen[k];
      if (k === i || !other) continue;
      const covers = cover(c.b, other.b, AIR);
      if (covers) cost += 500 + 40 * covers;
      if (c.join && meets(c.join, other.b)) cost += 120;
      if (other.join && meets(other.join, c.b)) cost += 120;
    }
    return cost;
  };
  const best = (i) => candidates[i].reduce((best, c) => {
    const cost = costOf(i, c);
    return !best || cost < best.cost ? { c, cost } : best;
  }, null);

  // Those with least room first; then each moves to where it is best beside the others, until none does.
  const room = points.map((p) =>
    points.filter((q) => Math.hypot(q.x - p.x, q.y - p.y) < p.width + 20).length);
  const order = points.map((_, i) => i).sort((a, b) => room[b] - room[a] || a - b);
  for (let round = 0; round < ROUNDS; round++) {
    let moved = false;
    for (const i of order) {
      const now = chosen[i] && costOf(i, chosen[i]);
      const found = best(i);
      if (found && (now === null || found.cost < now - 1e-9)) {
        chosen[i] = found.c;
        moved = true;
      }
    }
    if (!moved) break;
  }
  return points.map((p, i) => {
    const c = chosen[i];
    if (!c) return { x: p.x, y: p.y, far: false, clear: false };
    const alone = chosen.every((other, k) => k === i || !other || !cover(c.b, other.b, 0));
    return { x: c.b.x, y: c.b.y, far: c.join !== null, clear: alone && !c.covers };
  });
}
