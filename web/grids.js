// Grids of cells over time, such as the tiles of a panorama: one per run, for the moment shown.
"use strict";

/** Draws the grids of one id of several runs; `tools` are the helpers of report.js. */
function airlaneGrids(grids, tools) {
  const { make, format } = tools;
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 240;
  const known = grids.filter((grid) => grid);
  const first = known[0];

  function svg(tag, attributes) {
    const el = document.createElementNS(SVG, tag);
    for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, v);
    return el;
  }

  /** The class and colour of a kind of cell. */
  function paint(el, { fill }) {
    const scale = typeof fill === "object" ? fill.scale : null;
    el.setAttribute("class", scale === null ? "tile " + fill : "tile scale");
    if (scale === null) el.style.removeProperty("--s");
    else el.style.setProperty("--s", `${Math.round(10 + 85 * scale)}%`);
  }

  const isMissing = (grid, kind) => ["empty", "broken"].includes(grid.kinds[kind].fill);
  const isThere = (grid, kind) => grid.kinds[kind].fill !== "nothing";

  /** The last frame at or before a time; the first before all. */
  function frameAt(grid, time) {
    let found = grid.frames[0];
    for (const frame of grid.frames) {
      if (frame.t > time) break;
      found = frame;
    }
    return found;
  }

  // At rest the moment at which the runs differ most in how many cells are missing; of several, and of
  // one run, that with most.
  const atRest = (() => {
    let best = null, apart = -1, most = -1;
    for (const { t } of first.frames) {
      const missing = known.map((grid) =>
        frameAt(grid, t).cells.filter((kind) => isMissing(grid, kind)).length);
      const range = Math.max(...missing) - Math.min(...missing);
      const sum = missing.reduce((a, b) => a + b, 0);
      if (range > apart || (range === apart && sum > most)) [best, apart, most] = [t, range, sum];
    }
    return best ?? 0;
  })();

  function draw(grid) {
    const box = make("div", "grid-of");
    const { columns, rows, aspect } = grid;
    const height = WIDTH / aspect, w = WIDTH / columns, h = height / rows;
    const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
    const cells = [], dots = [];
    for (let i = 0; i < columns * rows; i++) {
      const x = (i % columns) * w, y = Math.floor(i / columns) * h;
      const cell = svg("rect", { x: x + .5, y: y + .5, width: w - 1, height: h - 1, rx: 1.5 });
      const broken = svg("path", { class: "slash",
        d: `M${x + 3} ${y + h - 3}L${x + w - 3} ${y + 3}` });
      const dot = svg("circle", { class: "seen", cx: x + w / 2, cy: y + h / 2, r: 0 });
      picture.append(cell, broken, dot);
      cells.push([cell, broken]);
      dots.push(dot);
    }
    const note = make("div", "values");
    box.append(note, picture);
    const most = Math.min(w, h) * .42;
    const show = (time) => {
      const frame = frameAt(grid, time ?? atRest);
      if (!frame) return;
      let missing = 0, all = 0;
      frame.cells.forEach((kind, i) => {
        const [cell, broken] = cells[i];
        paint(cell, grid.kinds[kind]);
        broken.style.display = grid.kinds[kind].fill === "broken" ? "" : "none";
        if (isMissing(grid, kind)) missing++;
        if (isThere(grid, kind)) all++;
        dots[i].setAttribute("r", frame.marks.length ? most * Math.sqrt(frame.marks[i] / 100) : 0);
      });
      note.replaceChildren(make("em", "", `at ${format(frame.t, 0)} s`),
        make("span", "", frame.note), make("span", "", `${missing} of ${all} missing`));
      picture.setAttribute("aria-label", `${grid.title} at ${format(frame.t, 0)} s: ` +
        `${frame.note}, ${missing} of ${all} missing`);
    };
    return { box, show };
  }

  function legend() {
    const key = make("div", "key grid-key");
    for (const kind of first.kinds) {
      const item = make("span");
      const swatch = svg("svg", { viewBox: "0 0 14 11", width: 14, height: 11, "aria-hidden": "true" });
      const cell = svg("rect", { x: .5, y: .5, width: 13, height: 10, rx: 1.5 });
      paint(cell, kind);
      swatch.append(cell);
      if (kind.fill === "broken") swatch.append(svg("path", { class: "slash", d: "M3 9L11 2" }));
      item.append(swatch, kind.name);
      key.append(item);
    }
    if (first.mark) {
      const item = make("span");
      const swatch = svg("svg", { viewBox: "0 0 14 11", width: 14, height: 11, "aria-hidden": "true" });
      swatch.append(svg("circle", { class: "seen", cx: 7, cy: 5.5, r: 4 }));
      item.append(swatch, first.mark);
      key.append(item);
    }
    return key;
  }

  return { drawn: grids.map((grid) => (grid && grid.frames.length ? draw(grid) : null)), legend };
}
