// Who held a shared medium when, such as the air of a WiFi: strips on the axis of time of the panels,
// and a short stretch in which each hold is a bar.
"use strict";

/**
 * What there is to draw of the media of one id of several runs (null: a run without it); `tools` are the
 * helpers of report.js, and the actors of the section.
 *
 * A strip has `draw(u, i)`, which draws run `i` onto a plot whose vertical axis is a share in percent from
 * 0 to `most`, and `read(i, from, to)`, the shares over a time as `{ name, fill, share }`, by brief names.
 */
function airlaneOccupancy(media, tools) {
  const { make, colour, actors, format } = tools;
  const known = media.filter((medium) => medium);
  const { kinds } = known[0];
  const LANES = 12, STEP = 3;

  const names = [];
  for (const { holders } of known) {
    for (const h of holders) if (!names.includes(h.name)) names.push(h.name);
  }
  const holderOf = (medium, name) => medium.holders.find((h) => h.name === name);
  const actorOf = (name) => actors[known.map((m) => holderOf(m, name)).find((h) => h)?.actor];
  const WEARS = { again: "--again", vain: "--vain", clash: "--clash" };
  const isOwn = (k) => !(kinds[k].fill in WEARS);

  /** The colour of a kind for somebody, over the paper. */
  function paint(fill, name) {
    const of = actorOf(name);
    const variable = WEARS[fill] || (of ? "--a" + of.colour : "--ink");
    return { colour: () => colour(variable), css: `var(${variable})`, striped: fill === "striped" };
  }

  /** Diagonal stripes of a colour over the paper. */
  function stripes(ctx, of) {
    const size = Math.round(5 * devicePixelRatio), tile = document.createElement("canvas");
    tile.width = tile.height = size;
    const c = tile.getContext("2d");
    c.fillStyle = colour("--paper");
    c.fillRect(0, 0, size, size);
    c.strokeStyle = of;
    c.lineWidth = size * .42;
    for (const x of [-size, 0, size]) {
      c.beginPath();
      c.moveTo(x - 1, size + 1);
      c.lineTo(x + size + 1, -1);
      c.stroke();
    }
    return ctx.createPattern(tile, "repeat");
  }

  /** Sums before each bin, of lists added up: the sum over any time takes two look-ups. */
  function summed(lists) {
    const sums = [0];
    for (let i = 0; i < Math.max(0, ...lists.map((l) => l.length)); i++) {
      sums.push(sums[i] + lists.reduce((sum, list) => sum + (list[i] || 0), 0));
    }
    return sums;
  }

  /** A strip of layers, bottom to top; `lists` gives the bins that a layer is the sum of. */
  function strip(head, layers) {
    const all = media.map((medium) => medium && layers.map(({ lists }) => summed(lists(medium))));
    /** The mean share of each layer between two bins, in percent. */
    const shares = (i, from, to) => all[i].map((sums) => {
      const low = Math.max(0, Math.min(sums.length - 1, from));
      const high = Math.max(low, Math.min(sums.length - 1, to));
      return high > low ? (sums[high] - sums[low]) / (high - low) / 10 : 0;
    });
    const draw = (u, i) => {
      const { ctx, bbox } = u;
      const { bin } = media[i];
      const x = (t) => Math.round(u.valToPos(t, "x", true));
      const [a, b] = [u.scales.x.min, u.scales.x.max];
      // So many bins at once that a step is some pixels wide.
      const wide = Math.max(1, Math.ceil((b - a) / bin * STEP * devicePixelRatio / bbox.width));
      const first = Math.max(0, Math.floor(a / bin / wide)) * wide;
      const last = Math.min(all[i][0].length - 1, Math.ceil(b / bin));
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      const floors = [];
      layers.forEach(({ fill }, n) => {
        ctx.beginPath();
        for (let k = first; k < last; k += wide) {
          const [left, right] = [x(k * bin), x(Math.min(k + wide, last) * bin)];
          const floor = floors[k] || 0, top = floor + shares(i, k, Math.min(k + wide, last))[n];
          const [high, low] = [u.valToPos(top, "y", true), u.valToPos(floor, "y", true)];
          ctx.rect(left, high, right - left, low - high);
          floors[k] = top;
        }
        ctx.fillStyle = fill.striped ? stripes(ctx, fill.colour()) : fill.colour();
        ctx.fill();
      });
      ctx.restore();
    };
    const read = (i, from, to) => {
      const { bin } = media[i];
      const found = shares(i, Math.floor(from / bin), Math.max(Math.ceil(to / bin), Math.floor(from / bin) + 1));
      return layers.map(({ name, brief, fill }, n) => ({ name: brief || name, fill, share: found[n] }));
    };
    const most = () => Math.max(...all.map((run, i) => {
      if (!run) return 0;
      let most = 0;
      const bins = run[0].length - 1, wide = Math.max(1, Math.ceil(bins / 200));
      for (let k = 0; k < bins; k += wide) {
        most = Math.max(most, shares(i, k, Math.min(k + wide, bins)).reduce((a, b) => a + b, 0));
      }
      return most;
    }));
    return { ...head, draw, read, most };
  }

  const of = (medium, name, which) =>
    (holderOf(medium, name)?.shares || []).filter((_, k) => which(k));
  const waste = kinds.map((kind, k) => ({ ...kind, k })).filter(({ k }) => !isOwn(k));
  const total = strip({ title: known[0].title, help: known[0].help, whole: true }, [
    ...names.map((name) => ({
      name, fill: paint("own", name), lists: (m) => of(m, name, isOwn),
    })),
    ...waste.map(({ name, brief, fill, k }) => ({
      name, brief, fill: paint(fill), lists: (m) => names.flatMap((who) => of(m, who, (i) => i === k)),
    })),
  ]);
  const held = (name) => known.reduce((sum, m) =>
    sum + (holderOf(m, name)?.shares || []).flat().reduce((a, b) => a + b, 0), 0);
  const laned = names.length <= LANES ? names
    : [...names].sort((a, b) => held(b) - held(a)).slice(0, LANES);
  const lanes = laned.map((name) => strip({ title: name, whole: false },
    kinds.map((kind, k) => ({
      name: kind.name, brief: kind.brief, fill: paint(kind.fill, name), lists: (m) => of(m, name, (i) => i === k),
    }))));
  const most = 10 * Math.ceil(Math.max(1, ...lanes.map((lane) => lane.most())) / 10);

  // ---- legends -------------------------------------------------------------------------------

  function key(items) {
    const el = make("div", "key");
    for (const { name, fill } of items) {
      const item = make("span");
      item.append(make("i", "patch " + fill), name);
      el.append(item);
    }
    return el;
  }

  const legend = () => key([...kinds, { name: known[0].free, fill: "free" }]);

  // ---- the stretch ---------------------------------------------------------------------------

  /** The stretch of a run: a row per holder, each hold a bar. */
  function stretchOf(medium) {
    const { stretch, holders } = medium;
    const span = 1e6 * (stretch.end - stretch.start);
    const box = make("div");
    const said = make("p", "note reading-line", "", { "aria-live": "polite" });
    const percent = (us) => `${Math.max(0, Math.min(100, 100 * us / span)).toFixed(3)}%`;
    const words = (h) => {
      const holder = holders[h.holder];
      return `${holder.name}, ${stretch.lanes[h.lane]}, from ${format(h.from / 1000, 2)} ms for ` +
        `${format((h.to - h.from) / 1000, 2)} ms: ${stretch.kinds[h.kind].name}; ${h.note}`;
    };
    const rest = `${stretch.holds.length} in all.`;
    const bars = new Map();
    let chosen = null;
    const choose = (hold) => {
      if (hold === chosen) return;
      bars.get(chosen)?.classList.remove("on");
      bars.get(hold)?.classList.add("on");
      chosen = hold;
      said.textContent = hold ? words(hold) : rest;
    };
    laned.forEach((name) => {
      const n = holders.findIndex((h) => h.name === name);
      const own = stretch.holds.filter((h) => h.holder === n).sort((a, b) => a.from - b.from);
      const row = make("div", "holds-of");
      const track = make("div", "track-of", undefined, {
        tabindex: 0, role: "group",
        "aria-label": `${name}: ${own.length} attempts; left and right go through them`,
      });
      for (const h of own) {
        const { fill } = stretch.kinds[h.kind];
        const bar = make("i", `${fill} lane${h.lane}` + (actorOf(name) ? ` c${actorOf(name).colour}` : ""));
        bar.style.left = percent(h.from);
        bar.style.width = percent(Math.min(h.to, span) - Math.max(0, h.from));
        bars.set(h, bar);
        track.append(bar);
      }
      track.addEventListener("pointermove", (event) => {
        const at = track.getBoundingClientRect();
        const us = span * (event.clientX - at.left) / at.width, lane = event.clientY > at.top + at.height / 2 ? 1 : 0;
        // Short ones are hard to hit: the nearest within some pixels.
        const reach = 4 * span / at.width;
        const away = (h) => Math.max(h.from - us, us - h.to, 0) + (h.lane === lane ? 0 : reach / 2);
        const near = own.filter((h) => away(h) <= reach).sort((a, b) => away(a) - away(b));
        choose(near[0] || null);
      });
      track.addEventListener("pointerleave", () => choose(null));
      track.addEventListener("blur", () => choose(null));
      track.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step || !own.length) return;
        event.preventDefault();
        const at = own.indexOf(chosen);
        choose(own[at < 0 ? (step > 0 ? 0 : own.length - 1) : Math.max(0, Math.min(own.length - 1, at + step))]);
      });
      row.append(make("span", "", name), track);
      box.append(row);
    });
    const ruler = make("div", "holds-of ruler-of");
    const ticks = make("div", "track-of");
    const ms = span / 1000, step = [1, 2, 5, 10, 20, 50].find((s) => ms / s <= 7) || 100;
    for (let t = 0; t <= ms + 1e-6; t += step) {
      const tick = make("b", "", format(t, 0));
      tick.style.left = percent(1000 * t);
      ticks.append(tick);
    }
    ruler.append(make("span", "", "ms"), ticks);
    said.textContent = rest;
    box.append(ruler, said);
    return box;
  }

  const first = known.find((m) => m.stretch);
  const stretch = first && {
    title: `${format(1000 * (first.stretch.end - first.stretch.start), 0)} ms in full detail`,
    help: first.stretch.help,
    legend: () => key(first.stretch.kinds),
    boxes: media.map((m) => (m && m.stretch ? stretchOf(m) : null)),
  };
  return { total, lanes: lanes.map((lane) => ({ ...lane, most: () => most })), legend, stretch,
    free: known[0].free.split(",")[0], left: names.length - laned.length };
}
