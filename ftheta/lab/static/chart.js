/**
 * A Vega specification on a canvas. Every picture is drawn beside the page and put in when it is complete, so that
 * nothing flickers. Parsing anew is as fast as changing the old view: the specification holds numbers, no formulas.
 */
import { expressionInterpreter } from "./vendor/vega-interpreter.js";
import { el } from "./dom.js";
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

/** Draw a specification. @returns {Promise<HTMLCanvasElement>} with `scale` canvas pixels to one of the chart. */
export async function draw(spec, scale) {
  fonts ??= Promise.all(FONTS.map((font) => document.fonts.load(font)));
  await fonts;
  const view = new vega.View(vega.parse(spec, null, { ast: true }), {
    expr: expressionInterpreter,
    renderer: "none",
    loader,
    logLevel: vega.Warn,
  });
  try {
    return await view.toCanvas(scale);
  } finally {
    view.finalize();
  }
}

/** The place of the big chart: it shows the newest picture that is complete. */
export class Stage {
  constructor() {
    this.node = el("div", { class: "stage" });
    this.readout = new Readout(this.node);
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
    const canvas = await draw(chart.spec, devicePixelRatio * zoom);
    if (ticket < this.painted) return false;
    this.painted = ticket;
    canvas.style.width = `${(canvas.width / devicePixelRatio).toFixed(2)}px`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label || chart.title);
    this.readout.take(chart.spec);
    this.node.replaceChildren(canvas, this.readout.node);
    return true;
  }

  /** Forget what was asked for before. */
  clear(node = null) {
    this.painted = ++this.asked;
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
