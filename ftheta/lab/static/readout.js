/** Values under the pointer: the nearest point of every curve, read off the chart's own data. */
import { el } from "./dom.js";

const REACH = 40; // pixels of the chart beyond which a curve is not near

/**
 * What a specification of curves can be asked; null for other kinds of charts.
 * @param {any} spec
 */
export function curvesOf(spec) {
  const scales = Object.fromEntries((spec.scales || []).map((scale) => [scale.name, scale]));
  const series = (spec.data || []).filter(({ name }) => /^series\d+$/.test(name));
  if (!scales.x || !scales.y || !series.length) return null;
  const place = (point) => [position(scales.x, point.x), position(scales.y, point.y)];
  const curves = series.map(({ name, values }) => {
    const points = values.filter((v) => v.ok).map((v) => ({ ...v, at: place(v) }));
    const forward = points.every((point, i) => i === 0 || point.x >= points[i - 1].x);
    return { colour: colourOf(spec.marks, name), points, forward };
  });
  return { spec, curves };
}

/** The pixel of a value on a scale, as Vega places it. */
function position({ type, domain, range, constant = 1 }, value) {
  const bent = { log: Math.log, symlog: (v) => Math.sign(v) * Math.log1p(Math.abs(v) / constant) }[type] || ((v) => v);
  const [lo, hi, here] = [...domain, value].map(bent);
  return range[0] + ((here - lo) / (hi - lo)) * (range[1] - range[0]);
}

function colourOf(marks, name) {
  const mark = marks.find((m) => m.from?.data === name && m.type !== "area");
  const { stroke, fill } = mark?.encode.enter || {};
  return (stroke || fill)?.value || "currentcolor";
}

/** The crosshair over a stage. */
export class Readout {
  /** @param {HTMLElement} stage */
  constructor(stage) {
    this.stage = stage;
    this.line = el("div", { class: "cross" });
    this.words = el("div", { class: "readout" });
    this.node = el("div", { class: "over", hidden: true, "aria-hidden": "true" }, this.line, this.words);
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerleave", () => (this.node.hidden = true));
  }

  /** The chart that is shown now. */
  take(spec) {
    this.chart = curvesOf(spec);
    this.node.hidden = true;
  }

  move(event) {
    const canvas = this.stage.querySelector("canvas");
    if (!this.chart || !canvas) return;
    const { width, height, padding } = this.chart.spec;
    const box = canvas.getBoundingClientRect();
    const zoom = box.width / (width + padding.left + padding.right);
    const x = (event.clientX - box.left) / zoom - padding.left;
    const y = (event.clientY - box.top) / zoom - padding.top;
    const near = x >= -4 && x <= width + 4 && y >= 0 && y <= height ? this.near(x, y) : [];
    this.node.hidden = !near.length;
    if (near.length) this.show(near, { zoom, padding, height, origin: canvas });
  }

  /** The nearest point of every curve: sideways, or in the plane for one that turns back. */
  near(x, y) {
    const sideways = ({ at }) => Math.abs(at[0] - x);
    const inPlane = ({ at }) => Math.hypot(at[0] - x, at[1] - y);
    return this.chart.curves.flatMap(({ colour, points, forward }) => {
      const away = forward ? sideways : inPlane;
      const point = points.reduce((best, here) => (away(here) < away(best) ? here : best), points[0]);
      return point && away(point) < REACH ? [{ colour, point }] : [];
    });
  }

  show(near, { zoom, padding, height, origin }) {
    const left = (x) => origin.offsetLeft + (padding.left + x) * zoom;
    const top = (y) => origin.offsetTop + (padding.top + y) * zoom;
    const [{ point: first }] = near;
    place(this.line, left(first.at[0]), top(0));
    this.line.style.height = `${height * zoom}px`;
    const dots = near.map(({ colour, point }) => dot(colour, left(point.at[0]), top(point.at[1])));
    const rows = near.map(({ colour, point }) => row(colour, number(point.y)));
    this.words.replaceChildren(el("b", { text: number(first.x) }), ...rows);
    const right = left(first.at[0]) > origin.offsetLeft + 0.6 * origin.clientWidth;
    this.words.classList.toggle("left", right);
    place(this.words, left(first.at[0]) + (right ? -12 : 12), top(8));
    this.node.replaceChildren(this.line, ...dots, this.words);
  }
}

function place(node, left, top) {
  node.style.left = `${left}px`;
  node.style.top = `${top}px`;
}

function dot(colour, left, top) {
  const node = el("i", { class: "dot" });
  node.style.background = colour;
  place(node, left, top);
  return node;
}

function row(colour, text) {
  const mark = el("i", { class: "swatch" });
  mark.style.background = colour;
  return el("span", {}, mark, text);
}

const number = (value) =>
  String(Number(value.toPrecision(4)))
    .replace("-", "−")
    .replace(/e\+?/, "e");
