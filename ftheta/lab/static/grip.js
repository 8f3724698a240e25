/** A point of a chart that can be dragged: where it is let go, or rests on the way, is what two knobs are set to. */
import { el } from "./dom.js";
import { t } from "./language.js";

/** The value at a pixel of a linear scale. */
function valueAt({ domain, range }, pixel) {
  return domain[0] + ((pixel - range[0]) / (range[1] - range[0])) * (domain[1] - domain[0]);
}

function pixelOf({ domain, range }, value) {
  return range[0] + ((value - domain[0]) / (domain[1] - domain[0])) * (range[1] - range[0]);
}

export class Grip {
  /** @param {HTMLElement} stage @param {(values: Record<string, number>) => void} moved */
  constructor(stage, moved) {
    this.stage = stage;
    this.moved = moved;
    this.held = false;
    this.node = el("div", { class: "grip", hidden: true, title: t("Drag this point") });
    this.node.addEventListener("pointerdown", (event) => this.hold(event));
    // on the window: the point is taken out and put back with every new picture, and would lose a pointer it captured
    window.addEventListener("pointermove", (event) => this.held && this.move(event));
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => this.held && this.release());
  }

  /** The chart that is shown now; while the point is held it stays under the pointer. */
  take(spec) {
    this.spec = spec;
    this.handle = spec.usermeta?.handle ?? null;
    this.node.hidden = !this.handle;
    if (this.handle && !this.held) requestAnimationFrame(() => this.place());
  }

  scales() {
    return Object.fromEntries(this.spec.scales.map((scale) => [scale.name, scale]));
  }

  /** The canvas with its place and zoom. */
  frame() {
    const canvas = this.stage.querySelector("canvas");
    if (!canvas) return null;
    const { width, padding } = this.spec;
    const box = canvas.getBoundingClientRect();
    return { canvas, box, zoom: box.width / (width + padding.left + padding.right), padding };
  }

  place() {
    const frame = this.frame();
    if (!frame || !this.handle) return;
    const { x, y } = this.scales();
    const [across, up] = this.handle.at;
    const { canvas, zoom, padding } = frame;
    this.node.style.left = `${canvas.offsetLeft + (padding.left + pixelOf(x, across)) * zoom}px`;
    this.node.style.top = `${canvas.offsetTop + (padding.top + pixelOf(y, up)) * zoom}px`;
  }

  hold(event) {
    event.preventDefault();
    this.held = true;
    this.node.classList.add("held");
  }

  release() {
    this.held = false;
    this.node.classList.remove("held");
    this.place();
  }

  move(event) {
    const frame = this.frame();
    if (!frame || !this.handle) return;
    const { canvas, box, zoom, padding } = frame;
    const { x, y } = this.scales();
    this.node.style.left = `${canvas.offsetLeft + event.clientX - box.left}px`;
    this.node.style.top = `${canvas.offsetTop + event.clientY - box.top}px`;
    const across = valueAt(x, (event.clientX - box.left) / zoom - padding.left);
    const up = valueAt(y, (event.clientY - box.top) / zoom - padding.top);
    this.moved({ [this.handle.x]: across, [this.handle.y]: up });
  }
}
