// The report's time series: a row per quantity, a column per scheme, one axis of time for all.
"use strict";

/** Builds the time series of one section into `box`; `tools` are the helpers of report.js. */
function airlaneRuns(box, tools) {
  const { data, make, colour, actorColour, format, extent, axis, numbers, plot, between, mean, last } =
    tools;
  const section = data.sections[box.dataset.section];
  const { groups, schemes, actors } = section;
  const NARROW = 700;

  // What the reader has chosen. `view` is "all" or the index of a run; `time` and `range` are in
  // seconds, null for none and for all.
  const state = {
    group: 0, view: "all", hidden: new Set(), time: null, range: null,
    narrow: box.clientWidth < NARROW,
  };
  let cells = [];
  let built = [];
  let pictures = [];

  const group = () => groups[state.group];
  const shownRuns = () =>
    state.view === "all" ? group().runs : group().runs.filter((_, i) => i === state.view);
  const ends = new Map();
  const full = () => {
    if (!ends.has(state.group)) ends.set(state.group, [0, endOf(group())]);
    return ends.get(state.group);
  };
  const endOf = ({ runs }) => {
    let end = 0;
    for (const run of runs) {
      for (const p of run.panels) for (const s of p.series) end = Math.max(end, s.t.at(-1) || 0);
      for (const s of run.spans) end = Math.max(end, s.end);
    }
    return end || 1;
  };
  const range = () => state.range || full();
  const runTitle = (run) => schemes[run.scheme].title + (run.label ? ", " + run.label : "");

  box.replaceChildren();
  const controls = make("div", "bar-top");
  const body = make("div");
  box.append(controls, body);
  if (state.narrow) state.view = group().runs.length - 1;

  // ---- controls ------------------------------------------------------------------------------

  function named(name, ...children) {
    const el = make("div", "group-of", undefined, { role: "group", "aria-label": name });
    el.append(make("span", "name", name), ...children);
    return el;
  }

  const views = make("div", "group-of");
  function fillViews() {
    const runs = group().runs;
    views.replaceChildren();
    if (runs.length < 2) return;
    const tab = (label, view) => {
      const button = make("button", "tab", label,
        { type: "button", "aria-pressed": String(state.view === view) });
      button.addEventListener("click", () => {
        state.view = view;
        fillViews();
        views.querySelector("[aria-pressed=true]").focus();
        build();
      });
      return button;
    };
    views.append(named("Show",
      tab(state.narrow ? "All" : "Side by side", "all"),
      ...runs.map((run, i) => tab(runTitle(run), i))));
  }

  if (groups.length > 1) {
    const select = make("select", "", undefined, { "aria-label": "Run" });
    groups.forEach((g, i) => select.append(make("option", "", g.label, { value: i })));
    select.addEventListener("change", () => {
      state.group = Number(select.value);
      if (state.view !== "all" && state.view >= group().runs.length) state.view = "all";
      state.range = null;
      fillViews();
      build();
    });
    controls.append(named("Run", select));
  }
  controls.append(views);
  const present = actors.map((_, i) => i).filter((i) => groups.some((g) => g.runs.some((r) =>
    r.panels.some((p) => p.series.some((s) => s.actor === i)))));
  if (present.length > 1) {
    controls.append(named("Lines", ...present.map((i) => {
      const button = make("button", "toggle c" + actors[i].colour, undefined,
        { type: "button", "aria-pressed": "true", title: actors[i].detail });
      button.append(make("i", "swatch"), actors[i].name);
      button.addEventListener("click", () => {
        const hide = !state.hidden.has(i);
        state.hidden[hide ? "add" : "delete"](i);
        button.setAttribute("aria-pressed", String(!hide));
        for (const cell of cells) cell.toggle();
        say();
      });
      return button;
    })));
  }
  const slider = make("input", "", undefined,
    { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Moment, in seconds" });
  const clock = make("output", "", "whole time");
  slider.addEventListener("input", () => {
    const [a, b] = range();
    point(a + (b - a) * slider.value / 1000);
  });
  slider.addEventListener("blur", () => point(null));
  const timeBox = make("div", "time");
  timeBox.append(make("span", "note", "Time"), slider, clock);
  const zoomBy = (factor) => {
    const [a, b] = range(), [from, to] = full();
    const middle = state.time ?? (a + b) / 2, half = (b - a) * factor / 2;
    zoom(Math.max(from, middle - half), Math.min(to, middle + half));
  };
  const zooms = [["−", "Zoom out", () => zoomBy(2)], ["+", "Zoom in", () => zoomBy(0.5)],
    ["All", "Show the whole time", () => zoom(...full())]].map(([label, title, act]) => {
    const button = make("button", "zoom", label, { type: "button", title, "aria-label": title });
    button.addEventListener("click", act);
    return button;
  });
  timeBox.append(...zooms);
  controls.append(timeBox);

  // ---- one moment and one stretch of time for all charts -------------------------------------

  function point(time, source) {
    state.time = time;
    for (const { u } of cells) {
      if (u === source) continue;
      u.setCursor({ left: time === null ? -10 : u.valToPos(time, "x"), top: 0 }, false);
    }
    const [a, b] = range();
    if (time === null) {
      clock.textContent = state.range ? `${format(a, 0)} to ${format(b, 0)} s` : "whole time";
    } else {
      clock.textContent = format(time, 1) + " s";
      slider.value = String(Math.round(1000 * (time - a) / (b - a)));
    }
    slider.setAttribute("aria-valuetext", clock.textContent);
    say();
  }

  function zoom(a, b) {
    const [from, to] = full();
    state.range = b - a < 0.2 || (a <= from && b >= to) ? null : [a, b];
    const [min, max] = range();
    for (const { u } of cells) u.setScale("x", { min, max });
    point(null);
  }

  /** Writes the values of all lines beside all charts. */
  function say() {
    for (const cell of cells) cell.say();
    for (const picture of pictures) picture.show(state.time);
  }

  // ---- charts --------------------------------------------------------------------------------

  function spansBehind(u, run) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const stalled = run.spans.filter((s) => !state.hidden.has(s.actor));
    const lanes = [...new Set(stalled.map((s) => s.actor))].sort();
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const s of stalled) {
      const x = u.valToPos(s.start, "x", true);
      const width = Math.max(ratio, u.valToPos(s.end, "x", true) - x);
      ctx.fillStyle = actorColour(actors[s.actor]);
      ctx.globalAlpha = 0.2;
      ctx.fillRect(x, bbox.top, width, bbox.height);
      // A lane at the top says whose span it is where several overlap.
      ctx.globalAlpha = 1;
      ctx.fillRect(x, bbox.top + lanes.indexOf(s.actor) * 4 * ratio, width, 3 * ratio);
    }
    ctx.restore();
  }

  /** The number of a line's colour: its actor's, else its own among several of a panel; null for ink. */
  function colourOf(panel, i) {
    const actor = actors[panel.series[i].actor];
    if (actor) return actor.colour;
    return panel.series.filter((s) => s.actor === null).length > 1 ? i % 8 : null;
  }

  function cell(head, panel, run, ys, isLast, height, withName) {
    const el = make("div", "cell");
    if (withName) el.append(make("div", "note", runTitle(run)));
    if (!panel || !panel.series.length) {
      el.append(make("p", "absent", `None under ${schemes[run.scheme].title}.`));
      return el;
    }
    const values = make("div", "values");
    const where = make("em");
    values.append(where);
    const readings = panel.series.map((s, i) => {
      const actor = actors[s.actor], number = colourOf(panel, i);
      const item = make("span", number === null ? "" : "c" + number, undefined, { title: s.name });
      const value = make("span", "v");
      item.append(make("i", "swatch"), actor ? actor.short : s.name, value);
      values.append(item);
      return { item, value };
    });
    const canvas = make("div", "", undefined, { role: "img" });
    el.append(values, canvas);
    built.push(() => {
      const { u, remove } = plot(canvas, options(head, panel, run, ys, isLast),
        uPlot.join(panel.series.map((s) => [s.t, s.v])), height + (isLast ? 40 : 0));
      let summed = "", sums = new Map();
      const rest = (s) => {
        const [a, b] = range();
        // Kept until the time shown changes: pointing and leaving would sum all lines up again.
        if (summed !== a + " " + b) { summed = a + " " + b; sums = new Map(); }
        if (!sums.has(s)) sums.set(s, head.last ? last(s, b) : mean(s, head.step, a, b));
        return sums.get(s);
      };
      const read = () => panel.series.map((s) =>
        format(state.time === null ? rest(s) : between(s.t, s.v, state.time, head.step),
          head.digits));
      const toggle = () => panel.series.forEach((s, i) => {
        const hide = state.hidden.has(s.actor);
        readings[i].item.hidden = hide;
        readings[i].item.style.display = hide ? "none" : "";
        u.setSeries(i + 1, { show: !hide });
      });
      const sayNow = () => {
        where.textContent = state.time === null ? (head.last ? "end" : "mean") : "now";
        read().forEach((text, i) => { readings[i].value.textContent = text; });
      };
      toggle();
      canvas.setAttribute("aria-label", `${head.title}, ${runTitle(run)}; ` + (head.last ? "at the end " : "mean ") +
        panel.series.map((s) => `${s.name} ${format(rest(s), head.digits)}`).join(", ") + " " + head.unit);
      cells.push({ u, remove, toggle, say: sayNow });
    });
    return el;
  }

  /** What all plots over time have: the shared axis, the moment pointed at, zooming. */
  function frame(ys, isLast) {
    return {
      scales: { x: { time: false, range: () => range() }, y: { range: () => ys } },
      axes: [
        axis(isLast
          ? { label: "time, s", size: 22, values: numbers, space: 50 }
          : { size: 5, values: (_, s) => s.map(() => ""), space: 50 }),
        axis({ size: 44, values: numbers, space: 26 }),
      ],
      cursor: {
        y: false, points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => { zoom(...full()); return null; } },
      },
      hooks: {
        setCursor: [(u) => point(u.cursor.left < 0 ? null : u.posToVal(u.cursor.left, "x"), u)],
        setSelect: [(u) => {
          const { left, width } = u.select;
          if (width < 4) return;
          const [a, b] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          zoom(a, b);
        }],
      },
    };
  }

  function options(head, panel, run, ys, isLast) {
    const { hooks, ...shared } = frame(ys, isLast);
    return {
      ...shared,
      series: [{}, ...panel.series.map((s, i) => ({
        label: s.name,
        stroke: () => {
          const number = colourOf(panel, i);
          return number === null ? actorColour(null) : colour("--a" + number);
        },
        width: 1.6, points: { show: false },
        dash: s.actor !== null && s.actor >= 8 ? [6, 3] : [],
        ...(head.step ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
      }))],
      hooks: { drawClear: [(u) => spansBehind(u, run)], ...hooks },
    };
  }

  /** Shared media, above the panels: all of each, and holder by holder. Gives what adds the stretches in
      full detail, which have an axis of their own and so stand below. */
  function occupanciesOf(runs, withName) {
    const below = [];
    for (const id of new Set(runs.flatMap((run) => run.occupancies.map((of) => of.id)))) {
      const media = runs.map((run) => run.occupancies.find((of) => of.id === id) || null);
      const shown = airlaneOccupancy(media, { ...tools, actors });
      const rowOf = (kind, title, help, legend, cellOf) => {
        const panel = make("div", "panel " + kind);
        const head = make("h4", "", title);
        if (help) head.append(make("span", "note", help));
        const row = make("div", "row");
        row.append(...runs.map((run, i) => {
          const el = make("div", "cell");
          if (withName) el.append(make("div", "note", runTitle(run)));
          const inside = media[i] ? cellOf(i) : null;
          el.append(inside || make("p", "absent", `None under ${schemes[run.scheme].title}.`));
          return el;
        }));
        panel.append(head, ...(legend ? [legend] : []), row);
        body.append(panel);
      };
      const { total, lanes } = shown;
      rowOf("", total.title, total.help, shown.legend(), (i) =>
        strip(total, media[i], i, [0, 100], state.narrow ? 130 : 150, shown.free));
      for (const lane of lanes) {
        rowOf("strip", lane.title, "", null, (i) => strip(lane, media[i], i, [0, lane.most()], 52, ""));
      }
      if (shown.left) body.append(make("p", "note", `${shown.left} more are not shown one by one.`));
      const { stretch } = shown;
      if (stretch) {
        below.push(() =>
          rowOf("", stretch.title, stretch.help, stretch.legend(), (i) => stretch.boxes[i]));
      }
    }
    return () => below.forEach((add) => add());
  }

  /** One strip of a medium in one run, with its figures above it. */
  function strip(of, medium, i, ys, height, free) {
    const el = make("div");
    const values = make("div", "values");
    const canvas = make("div", "", undefined, { role: "img" });
    el.append(values, canvas);
    const read = () => {
      const [a, b] = state.time === null ? range() : [state.time, state.time];
      const layers = of.read(i, a, b);
      const held = layers.reduce((sum, layer) => sum + layer.share, 0);
      return free ? [...layers, { name: free, share: 100 - held }] : [{ name: "in all", share: held }, ...layers];
    };
    const where = make("em");
    const readings = read().map(({ name, fill }) => {
      const item = make("span"), value = make("span", "v");
      const patch = make("i", "patch" + (!fill ? " free" : fill.striped ? " striped" : ""));
      if (fill) patch.style.setProperty("--c", fill.css);
      item.append(...(fill || free ? [patch] : []), name, value);
      return { item, value };
    });
    values.append(where, ...readings.map(({ item }) => item));
    const say = () => {
      where.textContent = state.time === null ? "mean" : "now";
      read().forEach(({ share }, n) => { readings[n].value.textContent = format(share, 1) + " %"; });
    };
    built.push(() => {
      const { hooks, ...shared } = frame(ys, false);
      // A low strip has room for both ends of its axis alone.
      if (height < 100) shared.axes[1] = axis({ size: 44, values: numbers, splits: () => ys });
      const end = medium.bin * Math.max(1, ...medium.holders.map((h) => h.shares[0]?.length || 0));
      const { u, remove } = plot(canvas, {
        ...shared,
        series: [{}, { paths: () => null, points: { show: false } }],
        hooks: { ...hooks, drawClear: [(u) => of.draw(u, i)] },
      }, [[0, end], [0, 0]], height);
      canvas.setAttribute("aria-label", `${of.title}: ` +
        read().map(({ name, share }) => `${name} ${format(share, 1)} %`).join(", "));
      cells.push({ u, remove, toggle() {}, say });
    });
    return el;
  }

  /** A row per kind of grid, above the panels. */
  function gridsOf(runs, withName) {
    for (const id of new Set(runs.flatMap((run) => run.grids.map((grid) => grid.id)))) {
      const grids = runs.map((run) => run.grids.find((grid) => grid.id === id));
      const { drawn, legend } = airlaneGrids(grids, tools);
      const head = grids.find((grid) => grid);
      const panel = make("div", "panel");
      const title = make("h4", "", head.title);
      if (head.help) title.append(make("span", "note", head.help));
      const row = make("div", "row");
      drawn.forEach((grid, i) => {
        const el = make("div", "cell");
        if (withName) el.append(make("div", "note", runTitle(runs[i])));
        el.append(grid ? grid.box : make("p", "absent", `None under ${schemes[runs[i].scheme].title}.`));
        row.append(el);
      });
      panel.append(title, legend(), row);
      body.append(panel);
      pictures.push(...drawn.filter((grid) => grid));
    }
  }

  function build() {
    for (const c of cells) c.remove();
    cells = [];
    built = [];
    pictures = [];
    body.replaceChildren();
    const runs = shownRuns();
    const most = state.narrow ? 1 : Math.max(1, Math.floor(box.clientWidth / 250));
    const columns = Math.min(runs.length, most);
    const withName = columns < runs.length;
    body.style.setProperty("--columns", columns);
    const height = columns > 1 ? 128 : state.narrow ? 130 : 165;
    if (!withName) {
      const heads = make("div", "heads");
      for (const run of runs) {
        const el = make("div");
        el.append(make("i", "mark m" + schemes[run.scheme].mark), runTitle(run));
        heads.append(el);
      }
      body.append(heads);
    }
    const shaded = [...new Set(runs.flatMap((r) => r.spans.map((s) => s.kind)))];
    if (shaded.length) {
      body.append(make("p", "note", `Shaded: ${shaded.join(", ")} of the line in that colour.`));
    }
    gridsOf(runs, withName);
    const addBelow = occupanciesOf(runs, withName);
    group().panels.forEach((head, i, all) => {
      const find = (run) => run.panels.find((p) => p.id === head.id);
      // The vertical scale is that of all schemes, shown or not: they compare at a glance.
      const ys = extent(group().runs.flatMap((r) => (find(r)?.series || []).map((s) => s.v)),
        head.range);
      const panel = make("div", "panel");
      const title = make("h4", "", head.title);
      if (head.unit) title.append(make("span", "unit", ", " + head.unit));
      if (head.help) title.append(make("span", "note", head.help));
      const row = make("div", "row");
      row.append(...runs.map((run) =>
        cell(head, find(run), run, ys, i === all.length - 1, height, withName)));
      panel.append(title, row);
      body.append(panel);
    });
    addBelow();
    // Plots take the width of their boxes, so they are made once everything stands.
    for (const make of built) make();
    point(null);
  }

  new ResizeObserver(() => {
    const narrow = box.clientWidth < NARROW;
    if (narrow === state.narrow) return;
    state.narrow = narrow;
    fillViews();
    build();
  }).observe(box);
  fillViews();
  build();
}
