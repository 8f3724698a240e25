/**
 * A Vega specification on a canvas. Every picture is drawn beside the page and put in when it is complete, so that
 * nothing flickers. Parsing anew is as fast as changing the old view: the specification holds numbers, no formulas.
 * A chart that moves holds the numbers of all its frames: its view is kept, and the signal `frame` chooses among them.
 */
import { expressionInterpreter } from "./vendor/vega-interpreter.js";
import { el } from "./dom.js";
import { Grip } from "./grip.js";
import { Motion } from "./motion.js";
import { Readout } from "./readout.js";

const { vega } = globalThis;
const FONTS = ['12px "DejaVu Sans"', 'bold 12px "DejaVu Sans"'];
let fonts = null;

/** The loader of charts: pictures that are in the specification, nothing else. */
const loader = vega.loader();
loader.sanitize = async (uri) => {
  if (!uri.startsWith("data:image/png;base64,")) throw new Error("charts load nothing");
  return { href: uri };
};

async function viewOf(spec) {
  fonts ??= Promise.all(FONTS.map((font) => document.fonts.load(font)));
  await fonts;
  return new vega.View(vega.parse(spec, null, { ast: true }), {
    expr: expressionInterpreter,
    renderer: "none",
    loader,
    logLevel: vega.Warn,
  });
}

/** Draw a specification. @returns {Promise<HTMLCanvasElement>} with `scale` canvas pixels to one of the chart. */
export async function draw(spec, scale) {
  const view = await viewOf(spec);
  try {
    return await view.toCanvas(scale);
  } finally {
    view.finalize();
  }
}

/** What the clock says in every frame of a chart that moves; one frame or none for others. */
const clocks = (spec) => (spec.data || []).find(({ name }) => name === "course")?.values.map((row) => row.clock) ?? [];

/**
 * Draw a specification that moves, on a canvas that is drawn again for every frame.
 * @returns {Promise<import("./motion.js").Film & {canvas: HTMLCanvasElement}>}
 */
async function filmed(spec, scale) {
  const view = await viewOf(spec);
  await view.runAsync();
  const { left, right, top, bottom } = spec.padding;
  const size = [spec.width + left + right, spec.height + top + bottom];
  const renderer = new vega.CanvasRenderer(loader).initialize(null, ...size, [left, top], scale);
  renderer.background(spec.background);
  const show = (frame) => {
    view.signal("frame", frame).run();
    renderer.render(view.scenegraph().root);
  };
  return { canvas: renderer.canvas(), clocks: clocks(spec), show, end: () => view.finalize() };
}

/** The place of the big chart: it shows the newest picture that is complete. */
export class Stage {
  /** @param {(values: Record<string, number>) => void} drag called with the knobs that a dragged point changes */
  constructor(drag) {
    this.node = el("div", { class: "stage" });
    this.readout = new Readout(this.node);
    this.grip = new Grip(this.node, drag);
    this.motion = new Motion();
    this.asked = 0;
    this.painted = 0;
  }

  /**
   * Paint a chart; resolves to whether it was put on the page (a newer one may have come first).
   * @param {{spec: any, title: string}} chart
   * @param {{zoom?: number, label?: string}} [options] zoom: how much larger than its own size it is shown
   */
  async paint(chart, { zoom = 1, label = "" } = {}) {
    const ticket = ++this.asked;
    const scale = devicePixelRatio * zoom;
    const film = clocks(chart.spec).length > 1 ? await filmed(chart.spec, scale) : null;
    const canvas = film ? film.canvas : await draw(chart.spec, scale);
    if (ticket < this.painted) {
      film?.end();
      return false;
    }
    this.painted = ticket;
    this.motion.take(film);
    canvas.style.width = `${(canvas.width / devicePixelRatio).toFixed(2)}px`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label || chart.title);
    this.readout.take(chart.spec);
    this.grip.take(chart.spec);
    this.node.replaceChildren(canvas, this.readout.node, this.grip.node);
    return true;
  }

  /** Forget what was asked for before. */
  clear(node = null) {
    this.painted = ++this.asked;
    this.motion.take(null);
    this.node.replaceChildren(...(node ? [node] : []));
  }
}

/** Draw a small chart once, so that the first real one does not wait for the compiler. */
export function warmUp() {
  const axis = { scale: "x", orient: "bottom", values: [0, 1] };
  const marks = [
    { type: "line", from: { data: "d" }, encode: { enter: { x: { field: "x", scale: "x" }, y: { value: 1 } } } },
    { type: "text", encode: { enter: { text: { value: "θ" }, x: { value: 1 } } } },
  ];
  const scales = [{ name: "x", type: "linear", domain: [0, 1], range: [0, 9] }];
  const data = [{ name: "d", values: [{ x: 0 }, { x: 1 }] }];
  return draw({ $schema: "", width: 9, height: 9, autosize: "none", scales, axes: [axis], data, marks }, 1);
}
