/** The thin bar over the chart while something is computed; after a while the time, the step and a way out. */
import { el, write } from "./dom.js";
import { t } from "./language.js";

const BAR = 150;
const DIM = 300;
const WORDS = 600;

export class Progress {
  constructor(cancel) {
    this.bar = el("div", { class: "progress-bar", hidden: true });
    this.text = el("span", { class: "elapsed" });
    this.button = el("button", { type: "button", class: "cancel", text: t("Cancel"), on: { click: cancel } });
    this.words = el("div", { class: "progress-words", role: "status", hidden: true }, this.text, this.button);
    this.node = el("div", { class: "progress" }, this.bar, this.words);
    this.run = null;
  }

  /** @param {{since: number, text: string} | null} run what is being computed */
  show(run) {
    const begins = run && !this.run;
    this.run = run;
    if (!run) {
      clearTimeout(this.timer);
      this.bar.hidden = this.words.hidden = true;
      this.node.parentElement?.classList.remove("stale");
    } else if (begins) {
      this.since = run.since;
      this.timer = setTimeout(() => this.tick(), BAR);
    }
  }

  tick() {
    const elapsed = performance.now() - this.run.since;
    this.bar.hidden = elapsed < BAR - 5;
    this.node.parentElement.classList.toggle("stale", elapsed > DIM);
    this.words.hidden = elapsed < WORDS;
    write(this.text, `${(elapsed / 1000).toFixed(1)} s${this.run.text ? ` · ${this.run.text}` : ""}`);
    this.timer = setTimeout(() => this.tick(), elapsed < WORDS ? 150 : 100);
  }
}
