// Lines over the last minutes, drawn by uPlot, which the page has loaded before as a script.
import { format, make } from "./ui.js";

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const HEIGHT = 150;
const charts = new Set();

/** A colour of the style sheet, as the theme has it now. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Draws all charts anew, after a change of theme. */
export function redrawCharts() {
  for (const chart of charts) chart.redraw();
}

/** "now", or how long ago. */
const ago = (s) => {
  if (s >= -0.5) return "now";
  const whole = Math.round(-s);
  return `\u2212${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
};

const axis = (more) => ({
  font: FONT, gap: 4, ticks: { show: false }, stroke: () => colour("--soft"),
  grid: { stroke: () => colour("--grid"), width: 1 }, ...more,
});

/** Numbers with as many decimals as the step between them needs. */
function numbers(_, splits) {
  const step = Math.round((splits[1] - splits[0]) * 1e3) / 1e3;
  const digits = [0, 1].find((d) => Number.isInteger(step * 10 ** d)) ?? 2;
  return splits.map((v) => format(v, digits));
}

/** From the least to the greatest value with some air, at least over `atLeast`. */
function range(low, high, atLeast) {
  if (low === null || high === null || low > high) return atLeast;
  const air = Math.max((high - low) * 0.08, 1e-9);
  return [low >= atLeast[0] ? atLeast[0] : low - air, high <= atLeast[1] ? atLeast[1] : high + air];
}

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} colour a custom property of the style sheet, such as `--a0`
 * @property {boolean} [dashed]
 * @property {boolean} [stepped] the value holds until the next one
 */

/** A chart of one quantity over the time until now. */
export class Chart {
  /**
   * @param {HTMLElement} parent
   * @param {{title: string, unit: string, atLeast: [number, number]}} what
   */
  constructor(parent, what) {
    this.what = what;
    this.lines = [];
    const figure = make("figure");
    this.figure = figure;
    const caption = make("figcaption");
    const heading = make("h3", "", what.title);
    this.unit = make("span", "unit");
    heading.append(this.unit);
    this.key = make("span", "key");
    caption.append(heading, this.key);
    this.box = make("div", "plot");
    figure.append(caption, this.box);
    parent.append(figure);
    charts.add(this);
    this.rescale(what);
    new ResizeObserver(() => this.plot?.setSize({ width: this.#width(), height: HEIGHT }))
      .observe(this.box);
  }

  /**
   * Takes another unit and range for the quantity.
   * @param {{unit: string, atLeast: [number, number]}} scale
   */
  rescale({ unit, atLeast }) {
    const text = unit ? `, ${unit}` : "";
    if (this.unit.textContent !== text) this.unit.textContent = text;
    this.what = { ...this.what, unit, atLeast };
  }

  #width() {
    return Math.max(160, Math.floor(this.box.clientWidth));
  }

  redraw() {
    this.plot?.redraw(false);
  }

  /**
   * Shows lines: of each, times in seconds before now (at most 0) and values, null in gaps.
   * @param {Line[]} lines
   * @param {[number[], (number | null)[]][]} values
   * @param {number} window_s how far back the chart goes
   * @param {boolean} named whether the chart says the names of its lines
   */
  show(lines, values, window_s, named = true) {
    const same = JSON.stringify(lines) === JSON.stringify(this.lines);
    const data = lines.length ? globalThis.uPlot.join(values) : [[]];
    this.window_s = window_s;
    if (this.plot && same) {
      this.plot.setData(data);
      return;
    }
    this.lines = lines;
    this.plot?.destroy();
    this.plot = new globalThis.uPlot(this.#options(lines), data, this.box);
    this.key.replaceChildren(...(named && lines.length > 1 ? lines.map((l) => {
      const item = make("span");
      const swatch = make("i", l.dashed ? "swatch dashed" : "swatch");
      swatch.style.setProperty("--c", `var(${l.colour})`);
      item.append(swatch, l.name);
      return item;
    }) : []));
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", `${this.what.title} over time`);
  }

  #options(lines) {
    return {
      width: this.#width(), height: HEIGHT, padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: () => [-this.window_s, 0] },
        y: { range: (_, low, high) => range(low, high, this.what.atLeast) },
      },
      axes: [
        axis({ size: 24, space: 70, incrs: [15, 30, 60, 120, 300, 600], values: (_, s) => s.map(ago) }),
        axis({ size: 44, space: 28, values: numbers }),
      ],
      series: [{}, ...lines.map((l) => ({
        stroke: () => colour(l.colour), width: 2, dash: l.dashed ? [6, 4] : [], spanGaps: true,
        points: { show: false },
        paths: l.stepped ? globalThis.uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
    };
  }
}
