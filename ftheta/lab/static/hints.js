/** What a symbol of a formula means, in a small box below it: while it is pointed at, has the focus, or was tapped. */
import { el, rendered } from "./dom.js";

const GAP = 6; // pixels between a symbol and its box

export class Hints {
  /** @param {HTMLElement[]} places whose formulas have symbols */
  constructor(places) {
    this.descriptions = el("div", { class: "hidden-visually", "aria-hidden": "true" });
    this.box = el("div", { class: "hint-box", hidden: true, "aria-hidden": "true" });
    this.node = el("div", {}, this.descriptions, this.box);
    for (const place of places) {
      place.addEventListener("pointerover", (event) => this.over(event.target));
      place.addEventListener("pointerleave", () => this.over(document.activeElement));
      place.addEventListener("focusin", (event) => this.over(event.target));
      place.addEventListener("focusout", () => this.hide());
      place.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
      place.addEventListener("scroll", () => this.hide(), { capture: true, passive: true });
    }
  }

  /** @param {[string, string][]} symbols each with its meaning, as HTML; formulas refer to them by their places */
  take(symbols) {
    this.symbols = symbols;
    this.hide();
    this.descriptions.replaceChildren(
      ...symbols.map(([, means], k) => rendered(el("span", { id: `hint-${k}` }), means)),
    );
  }

  over(node) {
    const symbol = node instanceof Element ? node.closest(".symbol") : null;
    const found = symbol?.getAttribute("class").match(/symbol-(\d+)/);
    if (!found || !this.symbols[found[1]]) return this.hide();
    const [name, means] = this.symbols[found[1]];
    rendered(this.box, `${name}: ${means}`);
    this.box.hidden = false;
    const { left, bottom } = symbol.getBoundingClientRect();
    const most = document.documentElement.clientWidth - this.box.offsetWidth - GAP;
    this.box.style.left = `${Math.max(GAP, Math.min(left, most))}px`;
    this.box.style.top = `${bottom + GAP}px`;
  }

  hide() {
    this.box.hidden = true;
  }
}
