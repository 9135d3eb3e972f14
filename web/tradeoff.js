// One figure against another: a point per scheme with whiskers, labels that cover nothing, and the
// figures of the point that is pointed at.
"use strict";

/** Draws a trade-off into `box`; `tools` are the helpers of report.js. */
function airlaneTradeoff(box, tools) {
  const { data, make, format } = tools;
  const SVG = "http://www.w3.org/2000/svg";
  const FONT = "600 12.5px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
  const LABEL = 16, MARK = 5.5;
  // Whiskers do not stretch an axis by more than this beyond its points: a share of their span, and
  // on a logarithmic axis of its logarithm. What is further out ends in an arrow.
  const STRETCH = 0.35;
  const SHAPES = [null, "M-.9-.9H.9V.9H-.9Z", "M0-1.25L1.25 0L0 1.25L-1.25 0Z", "M0-1.1L1.1 .9H-1.1Z",
    "M0 1.1L1.1-.9H-1.1Z", "M-.35-1.1H.35V-.35H1.1V.35H.35V1.1H-.35V.35H-1.1V-.35H-.35Z"];
  const section = data.sections[box.dataset.section];
  const chart = section.tradeoffs[box.dataset.chart];
  const { points } = chart;
  const title = (side) => (side.unit ? `${side.title}, ${side.unit}` : side.title);

  function svg(tag, attributes, ...children) {
    const el = document.createElementNS(SVG, tag);
    for (const [k, v] of Object.entries(attributes || {})) el.setAttribute(k, v);
    el.append(...children);
    return el;
  }

  if (!points.length) {
    box.replaceChildren(make("p", "note", "No scheme has both figures."));
    return;
  }

  // ---- axes ----------------------------------------------------------------------------------

  /** The scale of an axis: where a figure lies between 0 and 1, and whether that is cut off. */
  function scale(side, pick) {
    const to = side.log ? Math.log10 : (v) => v;
    const can = (v) => v !== null && Number.isFinite(v) && (!side.log || v > 0);
    const at = points.map((p) => to(pick(p).value));
    let [low, high] = [Math.min(...at), Math.max(...at)];
    const span = high - low || (side.log ? .5 : Math.abs(high) || 1);
    const ends = points.flatMap((p) => pick(p).ci95 || []).filter(can).map(to);
    [low, high] = [Math.max(low - STRETCH * span, Math.min(low, ...ends)),
      Math.min(high + STRETCH * span, Math.max(high, ...ends))];
    const air = .06 * (high - low || span);
    [low, high] = [low - air, high + air];
    const place = (v) => (can(v) ? (to(v) - low) / (high - low) : -Infinity);
    return { side, low, high, place };
  }

  /** Round figures on an axis that is `length` long, each with `space` to the next. */
  function ticks({ side, low, high }, length, space) {
    const most = Math.max(2, Math.floor(length / space));
    if (side.log) {
      for (const steps of [[1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
        const found = [];
        for (let e = Math.floor(low); e <= Math.ceil(high); e++) {
          for (const m of steps) {
            const v = m * 10 ** e;
            if (Math.log10(v) >= low && Math.log10(v) <= high) found.push(v);
          }
        }
        const apart = found.slice(1).every((v, i) =>
          Math.log10(v / found[i]) / (high - low) * length >= space * .8);
        if (found.length >= 2 && apart) return found;
      }
    }
    const [from, to] = side.log ? [10 ** low, 10 ** high] : [low, high];
    const raw = (to - from) / most, base = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw);
    const found = [];
    for (let i = Math.ceil(from / step); i * step <= to; i++) found.push(i * step);
    return found;
  }

  function tickText(side, all) {
    const step = side.log ? Math.min(...all) : all.length > 1 ? all[1] - all[0] : 1;
    const digits = (v) => Math.max(0, Math.min(6, -Math.floor(Math.log10(v) + 1e-9)));
    return all.map((v) => format(v, side.log ? digits(v) : digits(step)));
  }

  // ---- words ---------------------------------------------------------------------------------

  const reading = ({ value, ci95 }, side) => {
    const interval = ci95 ? ` (${format(ci95[0], side.digits)} to ${format(ci95[1], side.digits)})` : "";
    return format(value, side.digits) + interval + (side.unit ? "\u00a0" + side.unit : "");
  };
  const said = (p) => `${section.schemes[p.scheme].title}: ${chart.y.title} ${reading(p.y, chart.y)}, ` +
    `${chart.x.title} ${reading(p.x, chart.x)}`;

  /** The corner or side that is better: its words, and where it is. */
  function better() {
    const x = { lower: 0, higher: 1 }[chart.x.better], y = { lower: 1, higher: 0 }[chart.y.better];
    if (x === undefined && y === undefined) return null;
    const arrows = { "0 0": "↖", "1 0": "↗", "0 1": "↙", "1 1": "↘" };
    const arrow = x === undefined ? "↑↓"[y] : y === undefined ? "←→"[x] : arrows[`${x} ${y}`];
    return { text: x === 1 ? `better ${arrow}` : `${arrow} better`, x: x ?? .5, y: y ?? .5 };
  }

  /** The schemes that no other one exceeds in both figures, by their place along the axis. */
  function front() {
    if (!chart.x.better || !chart.y.better) return [];
    const loss = (p) => [chart.x, chart.y].map((side, i) =>
      (side.better === "lower" ? 1 : -1) * (i ? p.y : p.x).value);
    const beats = (a, b) => {
      const [[ax, ay], [bx, by]] = [loss(a), loss(b)];
      return ax <= bx && ay <= by && (ax < bx || ay < by);
    };
    return points.filter((p) => !points.some((q) => beats(q, p)))
      .sort((a, b) => a.x.value - b.x.value);
  }

  // ---- the drawing ---------------------------------------------------------------------------

  const say = make("p", "reading-line note", undefined, { "aria-live": "polite" });
  const rest = matchMedia("(hover: none)").matches ? "Touch a point to read its figures."
    : "Point at a mark or a row of the table, or move to a mark with the tab key, to read its figures.";
  const holder = make("div");
  box.replaceChildren(holder, say);
  const table = box.parentElement.querySelector("table");
  let marks = new Map();

  function point(scheme) {
    const found = points.find((p) => p.scheme === scheme);
    say.textContent = found ? said(found) : rest;
    holder.firstElementChild?.classList.toggle("one", Boolean(found));
    for (const [of, els] of marks) for (const el of els) el.classList.toggle("on", of === scheme);
    for (const row of table?.querySelectorAll("tr[data-scheme]") || []) {
      row.classList.toggle("on", Boolean(found) && Number(row.dataset.scheme) === scheme);
    }
  }

  const ink = document.createElement("canvas").getContext("2d");
  const widthOf = (text) => {
    ink.font = FONT;
    return Math.ceil(ink.measureText(text).width) + 4;
  };

  function draw(width) {
    const narrow = width < 560;
    const left = 46, right = 14, top = 10, bottom = 46;
    const plane = { width: width - left - right, height: narrow ? 340 : Math.min(460, .56 * width) };
    const xs = scale(chart.x, (p) => p.x), ys = scale(chart.y, (p) => p.y);
    const corner = better();
    const px = (v) => xs.place(v) * plane.width;
    const py = (v) => (1 - ys.place(v)) * plane.height;
    const labels = () => {
      const sized = points.map((p) => ({
        x: px(p.x.value), y: py(p.y.value),
        width: widthOf(section.schemes[p.scheme].title), height: LABEL,
      }));
      const lines = points.flatMap((p) => whiskers(p).map((w) => w.line));
      const taken = corner ? [cornerBox()] : [];
      return airlaneLabels(sized, plane, taken, lines);
    };
    const cornerBox = () => {
      const w = widthOf(corner.text) + 12, h = LABEL + 8;
      return { x: corner.x * (plane.width - w), y: corner.y * (plane.height - h), width: w, height: h };
    };
    /** The intervals of a point as lines, and on which of their ends they are cut off. */
    const whiskers = (p) => {
      const found = [];
      const within = (v, most) => Math.min(Math.max(v, 0), most);
      if (p.x.ci95) {
        const [a, b] = p.x.ci95.map(px), y = py(p.y.value);
        found.push({ line: [within(a, plane.width), y, within(b, plane.width), y],
          cut: [a < 0, b > plane.width], along: "x" });
      }
      if (p.y.ci95) {
        const [a, b] = p.y.ci95.map(py), x = px(p.x.value);
        found.push({ line: [x, within(a, plane.height), x, within(b, plane.height)],
          cut: [a > plane.height, b < 0], along: "y" });
      }
      return found;
    };
    // Where labels have no room the plane grows.
    let placed = labels();
    for (let i = 0; i < 5 && placed.some((l) => !l.clear); i++) {
      plane.height += 60;
      placed = labels();
    }

    const root = svg("svg", {
      class: "plane-of", width, height: plane.height + top + bottom, role: "group",
      "aria-label": `${title(chart.y)} against ${title(chart.x)}, a point per scheme`,
    });
    const g = svg("g", { transform: `translate(${left} ${top})` });
    root.append(g);
    const frame = svg("g", { "aria-hidden": "true" });
    g.append(frame);
    const xTicks = ticks(xs, plane.width, 52), yTicks = ticks(ys, plane.height, 40);
    tickText(chart.x, xTicks).forEach((text, i) => {
      const x = px(xTicks[i]);
      frame.append(svg("line", { class: "rule", x1: x, x2: x, y1: 0, y2: plane.height }),
        svg("text", { class: "tick-of", x, y: plane.height + 17, "text-anchor": "middle" }, text));
    });
    tickText(chart.y, yTicks).forEach((text, i) => {
      const y = py(yTicks[i]);
      frame.append(svg("line", { class: "rule", x1: 0, x2: plane.width, y1: y, y2: y }),
        svg("text", { class: "tick-of", x: -7, y: y + 4, "text-anchor": "end" }, text));
    });
    const log = (side) => (side.log ? " (logarithmic)" : "");
    frame.append(
      svg("text", { class: "tick-of", x: plane.width / 2, y: plane.height + 38,
        "text-anchor": "middle" }, title(chart.x) + (narrow ? "" : log(chart.x))),
      svg("text", { class: "tick-of", "text-anchor": "middle",
        transform: `translate(${-left + 11} ${plane.height / 2}) rotate(-90)` }, title(chart.y) + log(chart.y)));
    if (corner) {
      const b = cornerBox();
      frame.append(svg("rect", { class: "corner", x: b.x, y: b.y, width: b.width, height: b.height, rx: 4 }),
        svg("text", { class: "corner-of", x: b.x + b.width / 2, y: b.y + b.height / 2 + 4,
          "text-anchor": "middle" }, corner.text));
    }
    const best = front();
    if (best.length > 1) {
      const path = best.map((p, i) => {
        const [x, y] = [px(p.x.value), py(p.y.value)];
        if (!i) return `M${x} ${y}`;
        // Less along the horizontal axis is better: up to the next point the last one is the best.
        return chart.x.better === "lower" ? `H${x}V${y}` : `V${y}H${x}`;
      });
      frame.append(svg("path", { class: "front", d: path.join("") }));
    }

    marks = new Map(points.map((p) => [p.scheme, []]));
    // Whiskers below all marks, and the scheme that stands out above the others.
    const rank = (p) => (section.schemes[p.scheme].mark === 2 ? 1 : 0);
    const order = points.map((_, i) => i).sort((a, b) => rank(points[a]) - rank(points[b]));
    const add = (p, el) => { g.append(el); marks.get(p.scheme).push(el); };
    for (const i of order) {
      const p = points[i], m = section.schemes[p.scheme].mark;
      const el = svg("g", { class: "whiskers", style: `--m:var(--m${m})`, "aria-hidden": "true" });
      for (const { line: [x1, y1, x2, y2], cut, along } of whiskers(p)) {
        el.append(svg("line", { x1, y1, x2, y2 }));
        [[x1, y1, -1], [x2, y2, 1]].forEach(([x, y, way], k) => {
          const s = 3.5, d = along === "x" ? way : -way;
          const end = along === "x"
            ? cut[k] ? `M${x - d * s} ${y - s}L${x} ${y}L${x - d * s} ${y + s}` : `M${x} ${y - s}V${y + s}`
            : cut[k] ? `M${x - s} ${y - d * s}L${x} ${y}L${x + s} ${y - d * s}` : `M${x - s} ${y}H${x + s}`;
          el.append(svg("path", { d: end }));
        });
      }
      add(p, el);
    }
    points.forEach((p, i) => {
      const l = placed[i];
      if (!l.far || !l.clear) return;
      const [x, y] = [px(p.x.value), py(p.y.value)], size = widthOf(section.schemes[p.scheme].title);
      const tx = Math.min(Math.max(x, l.x), l.x + size), ty = Math.min(Math.max(y, l.y + 2), l.y + LABEL - 2);
      add(p, svg("line", { class: "leader", x1: x, y1: y, x2: tx, y2: ty, "aria-hidden": "true" }));
    });
    for (const i of order) {
      const p = points[i], scheme = section.schemes[p.scheme], l = placed[i];
      const [x, y] = [px(p.x.value), py(p.y.value)];
      const mark = svg("g", { class: "point", tabindex: 0, role: "img", "aria-label": said(p),
        "data-scheme": p.scheme, style: `--m:var(--m${scheme.mark})` });
      const shape = SHAPES[scheme.mark];
      mark.append(svg("circle", { class: "target", cx: x, cy: y, r: 12 }),
        shape ? svg("path", { class: "shape", d: shape, transform: `translate(${x} ${y}) scale(${MARK})` })
          : svg("circle", { class: "shape", cx: x, cy: y, r: MARK }));
      // A label without room is left out: pointing says the name.
      if (l.clear) {
        mark.append(svg("text", { class: "label", x: l.x + 2, y: l.y + 12 }, scheme.title));
      }
      mark.addEventListener("pointerenter", () => point(p.scheme));
      mark.addEventListener("pointerleave", () => point(null));
      mark.addEventListener("focus", () => point(p.scheme));
      mark.addEventListener("blur", () => point(null));
      mark.addEventListener("click", () => point(p.scheme));
      add(p, mark);
    }
    holder.replaceChildren(root);
    point(null);
  }

  for (const row of table?.querySelectorAll("tr[data-scheme]") || []) {
    row.addEventListener("pointerenter", () => point(Number(row.dataset.scheme)));
    row.addEventListener("pointerleave", () => point(null));
  }
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.max(260, Math.floor(box.clientWidth));
    if (width === drawn) return;
    drawn = width;
    draw(width);
  }).observe(box);
}
