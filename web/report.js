// Draws the report's charts from the JSON in the page. Tables and text are there without it.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const charts = [];

  // ---- small helpers -------------------------------------------------------------------------

  /** An element with a class, text and attributes. Text never passes through innerHTML. */
  function make(tag, className, text, attributes) {
    const el = document.createElement(tag);
    if (className) el.className = className;
    if (text !== undefined) el.textContent = text;
    for (const [k, v] of Object.entries(attributes || {})) el.setAttribute(k, v);
    return el;
  }

  let palette = {};
  /** A colour of the style sheet, as the current theme has it. */
  function colour(name) {
    return (palette[name] ??= getComputedStyle(root).getPropertyValue(name).trim());
  }

  const actorColour = (actor) => colour(actor ? "--a" + actor.colour : "--ink");
  const titled = (axis) => (axis.unit ? axis.title + ", " + axis.unit : axis.title);

  function format(value, digits) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const [whole, fraction] = Math.abs(value).toFixed(digits).split(".");
    const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
    const text = fraction ? grouped + "." + fraction : grouped;
    return value < 0 && /[1-9]/.test(text) ? "\u2212" + text : text;
  }

  /** Three significant digits or so. */
  const plain = (value) => format(value, Math.abs(value) >= 20 ? 1 : 2);

  /** The index of the last element at or below `x`, or -1. */
  function before(sorted, x) {
    let low = 0, high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] <= x) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  /** Lowest and highest number of lists, and of a range to show at least, with some air. */
  function extent(lists, range) {
    let low = Infinity, high = -Infinity;
    for (const list of lists) for (const v of list) {
      if (v === null) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low > high) [low, high] = range || [0, 1];
    const air = (high - low || Math.abs(high) || 1) * 0.06;
    let [from, to] = [low - air, high + air];
    if (range) {
      if (low >= range[0]) from = range[0];
      if (high <= range[1]) to = range[1];
    }
    return from < to ? [from, to] : [from, from + 1];
  }

  // ---- theme ---------------------------------------------------------------------------------

  const themes = ["automatic", "light", "dark"];
  let theme = "automatic";

  function setTheme(name) {
    theme = themes.includes(name) ? name : "automatic";
    if (theme === "automatic") delete root.dataset.theme; else root.dataset.theme = theme;
    const button = document.getElementById("theme");
    button.textContent = "Theme: " + theme;
    palette = {};
    for (const chart of charts) chart.plot.redraw(false);
  }

  function startTheme() {
    const key = "airlane-report-theme";
    const store = (act) => { try { return act(localStorage); } catch { return null; } };
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      setTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
      store((s) => s.setItem(key, theme));
    });
    setTheme(new URLSearchParams(location.search).get("theme") || store((s) => s.getItem(key)));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(theme));
    let shown = theme;
    addEventListener("beforeprint", () => {
      shown = theme;
      setTheme("light");
      for (const d of document.querySelectorAll("details")) d.open = true;
    });
    addEventListener("afterprint", () => setTheme(shown));
  }

  // ---- what all charts share -----------------------------------------------------------------

  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

  function axis(more) {
    return {
      font: FONT, labelFont: FONT, labelSize: 18, labelGap: 0, gap: 4,
      stroke: () => colour("--soft"),
      grid: { stroke: () => colour("--grid"), width: 1 },
      ticks: { show: false },
      ...more,
    };
  }

  const numbers = (_, splits) => {
    const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : 1;
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
    return splits.map((v) => (v === null ? "" : format(v, digits)));
  };

  /** A plot that follows the width of its box. */
  function plot(box, options, values, height) {
    const width = () => Math.max(120, Math.floor(box.clientWidth));
    const u = new uPlot({
      width: width(), height, legend: { show: false }, padding: [6, 14, 0, 0], ...options,
    }, values, box);
    const chart = { plot: u, box };
    const observer = new ResizeObserver(() => {
      if (width() !== u.width) u.setSize({ width: width(), height });
    });
    observer.observe(box);
    charts.push(chart);
    return {
      u,
      remove() {
        observer.disconnect();
        charts.splice(charts.indexOf(chart), 1);
        u.destroy();
      },
    };
  }

  /** The shape of a scheme's mark on a canvas, the same as in the style sheet. */
  function drawMark(ctx, mark, x, y, r) {
    ctx.beginPath();
    const polygon = (points) => {
      points.forEach(([dx, dy], i) => ctx[i ? "lineTo" : "moveTo"](x + dx * r, y + dy * r));
      ctx.closePath();
    };
    switch (mark) {
      case 1: polygon([[-.9, -.9], [.9, -.9], [.9, .9], [-.9, .9]]); break;
      case 2: polygon([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]); break;
      case 3: polygon([[0, -1.1], [1.1, .9], [-1.1, .9]]); break;
      case 4: polygon([[0, 1.1], [1.1, -.9], [-1.1, -.9]]); break;
      case 5: polygon([[-.35, -1.1], [.35, -1.1], [.35, -.35], [1.1, -.35], [1.1, .35], [.35, .35],
        [.35, 1.1], [-.35, 1.1], [-.35, .35], [-1.1, .35], [-1.1, -.35], [-.35, -.35]]); break;
      default: ctx.arc(x, y, r, 0, 2 * Math.PI);
    }
    ctx.fillStyle = colour("--m" + mark);
    ctx.strokeStyle = colour("--paper");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.fill();
    ctx.stroke();
  }

  const nothing = (box) => box.replaceChildren(make("p", "note", "Nothing was measured here."));

  // ---- curves with marks ---------------------------------------------------------------------

  function drawCurve(box) {
    const section = data.sections[box.dataset.section];
    const group = section.curves[box.dataset.group];
    const chart = group.charts[box.dataset.chart];
    if (!chart.lines.some((l) => l.x.length)) return nothing(box);
    const all = (pick, range) => extent(group.charts.flatMap((c) => [
      ...c.lines.map((l) => l[pick]), c.marks.map((m) => m[pick])]), range);
    const xs = all("x", group.x.range), ys = all("y", group.y.range);
    const reading = make("div", "reading");
    const marks = (u) => {
      for (const m of chart.marks) {
        if (m.y === null) continue;
        const x = u.valToPos(m.x, "x", true), y = u.valToPos(m.y, "y", true);
        u.ctx.save();
        u.ctx.strokeStyle = colour("--m" + section.schemes[m.scheme].mark);
        u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
        u.ctx.lineWidth = devicePixelRatio;
        u.ctx.beginPath();
        u.ctx.moveTo(x, y);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
        u.ctx.restore();
        drawMark(u.ctx, section.schemes[m.scheme].mark, x, y, 5.5 * devicePixelRatio);
      }
    };
    const line = chart.colour === null ? "--ink" : "--a" + chart.colour;
    const say = (u) => {
      const first = chart.lines[0];
      if (!first || u.cursor.left < 0) { reading.textContent = ""; return; }
      const x = u.posToVal(u.cursor.left, "x"), y = between(first.x, first.y, x, false);
      reading.textContent = `${plain(x)} ${group.x.unit} gives ${plain(y)} ${group.y.unit}`;
    };
    box.replaceChildren();
    plot(box, {
      scales: { x: { time: false, range: () => xs }, y: { range: () => ys } },
      axes: [
        axis({ label: titled(group.x), size: 24, values: numbers, space: 45 }),
        axis({ label: titled(group.y), size: 34, values: numbers, space: 28 }),
      ],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      series: [{}, ...chart.lines.map((l, i) => ({
        label: l.name, stroke: () => colour(line), width: 2, spanGaps: true, dash: i ? [6, 4] : [],
        points: { show: l.x.length <= 30, size: 5, stroke: () => colour(line), fill: () => colour(line) },
      }))],
      hooks: { draw: [marks], setCursor: [say] },
    }, uPlot.join(chart.lines.map((l) => [l.x, l.y])), 210);
    box.append(reading);
  }

  // ---- distributions -------------------------------------------------------------------------

  function drawCdf(box) {
    const section = data.sections[box.dataset.section];
    const cdf = section.cdfs[box.dataset.chart];
    const lines = cdf.lines.filter((l) => l.x.length);
    if (!lines.length) return nothing(box);
    const xs = extent(lines.map((l) => l.x), cdf.x.range);
    // One point per value, and lines that reach from edge to edge.
    const steps = lines.map((l) => {
      const x = [], p = [];
      if (l.x[0] > xs[0]) { x.push(xs[0]); p.push(0); }
      l.x.forEach((v, i) => {
        if (x.length && x[x.length - 1] === v) p[p.length - 1] = l.p[i];
        else { x.push(v); p.push(l.p[i]); }
      });
      if (x[x.length - 1] < xs[1]) { x.push(xs[1]); p.push(1); }
      return [x, p];
    });
    const mark = (l) => section.schemes[l.scheme].mark;
    const quarters = (u) => lines.forEach((l) => {
      for (const q of [0.25, 0.5, 0.75]) {
        const i = l.p.findIndex((p) => p >= q);
        drawMark(u.ctx, mark(l), u.valToPos(l.x[i], "x", true), u.valToPos(q, "y", true),
          4 * devicePixelRatio);
      }
    });
    const key = make("div", "key");
    const readings = lines.map((l) => {
      const item = make("span");
      item.append(make("i", "mark m" + mark(l)), section.schemes[l.scheme].title + " ");
      const value = make("span", "note");
      item.append(value);
      key.append(item);
      return value;
    });
    const say = (u) => lines.forEach((l, i) => {
      if (!u || u.cursor.left < 0) {
        const half = l.x[l.p.findIndex((p) => p >= 0.5)];
        readings[i].textContent = `median ${plain(half)}, n = ${l.samples}`;
      } else {
        const x = u.posToVal(u.cursor.left, "x"), k = before(l.x, x);
        readings[i].textContent = `${format(k < 0 ? 0 : 100 * l.p[k], 0)} % up to ${plain(x)}`;
      }
    });
    box.replaceChildren();
    plot(box, {
      scales: { x: { time: false, range: () => xs }, y: { range: () => [0, 1] } },
      axes: [
        axis({ label: titled(cdf.x), size: 24, values: numbers, space: 50 }),
        axis({ label: "share of samples", size: 40, space: 30,
          values: (_, s) => s.map((v) => format(100 * v, 0) + " %") }),
      ],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      series: [{}, ...lines.map((l) => ({
        stroke: () => colour("--m" + mark(l)), width: 2, points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
      }))],
      hooks: { draw: [quarters], setCursor: [say] },
    }, uPlot.join(steps), 230);
    box.append(key);
    say(null);
  }

  // ---- values of lines -----------------------------------------------------------------------

  /** The value of a line at `x`: held (step) or between points; null outside and in gaps. */
  function between(xs, ys, x, step) {
    const i = before(xs, x);
    if (i < 0) return null;
    if (step) return ys[i];
    if (i === xs.length - 1) return xs[i] === x ? ys[i] : null;
    const a = ys[i], b = ys[i + 1];
    if (a === null || b === null) return xs[i] === x ? a : null;
    return xs[i + 1] > xs[i] ? a + (b - a) * (x - xs[i]) / (xs[i + 1] - xs[i]) : b;
  }

  /** The mean of a line over the time from `low` to `high`, gaps left out. */
  function mean(series, step, low, high) {
    let sum = 0, time = 0;
    const { t, v } = series;
    for (let i = 0; i < t.length; i++) {
      const next = i + 1 < t.length ? t[i + 1] : step ? high : t[i];
      const from = Math.max(low, t[i]), to = Math.min(high, next);
      if (to <= from || v[i] === null) continue;
      let height = v[i];
      if (!step) {
        if (v[i + 1] === null || v[i + 1] === undefined) continue;
        const at = (x) => v[i] + (v[i + 1] - v[i]) * (x - t[i]) / (next - t[i]);
        height = (at(from) + at(to)) / 2;
      }
      sum += height * (to - from);
      time += to - from;
    }
    return time > 0 ? sum / time : null;
  }

  /** The last value of a line up to `high`. */
  function last(series, high) {
    for (let i = before(series.t, high); i >= 0; i--) if (series.v[i] !== null) return series.v[i];
    return null;
  }

  const tools = {
    data, make, colour, actorColour, format, extent, axis, numbers, plot, between, mean, last,
  };

  // ---- start ---------------------------------------------------------------------------------

  startTheme();
  /** Draws into every box of a kind; a chart that cannot be drawn does not take the others along. */
  function drawAll(selector, draw) {
    for (const box of document.querySelectorAll(selector)) {
      try {
        draw(box);
      } catch (error) {
        console.error(error);
        box.replaceChildren(make("p", "note", "This chart could not be drawn: " + error.message));
      }
    }
  }
  drawAll(".plane", (box) => airlaneTradeoff(box, tools));
  drawAll(".xy", drawCurve);
  drawAll(".cdf", drawCdf);
  drawAll(".runs", (box) => airlaneRuns(box, tools));
  if (navigator.clipboard) {
    for (const button of document.querySelectorAll("button.copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  }
})();
