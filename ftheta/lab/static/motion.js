/**
 * The controls of a chart that moves: a button, a slider for the time. They show one frame after the other; where
 * less motion is asked for, the last one, until somebody presses the button.
 */
import { calm, el } from "./dom.js";
import { t } from "./language.js";

const PACE = 1000 / 30; // ms a frame
const EARLY = 4; // ms by which the browser may call early
const MOVES = /^(Arrow|Page|Home|End)/; // keys that move a slider

/**
 * @typedef {Object} Film
 * @property {string[]} clocks   what the clock says in each frame
 * @property {(frame: number) => void} show
 * @property {() => void} end
 */
export class Motion {
  constructor() {
    /** @type {Film | null} */
    this.film = null;
    this.button = el("button", {
      class: "play",
      type: "button",
      text: "▶",
      title: t("Play (space)"),
      "aria-label": t("Play the animation"),
      "aria-pressed": "false",
      on: { click: () => this.toggle() },
    });
    this.range = el("input", {
      type: "range",
      min: 0,
      step: 1,
      "aria-label": t("Time of the animation"),
      on: {
        input: () => this.scrub(Number(this.range.value)),
        pointerdown: () => this.hold(),
        keydown: ({ key }) => MOVES.test(key) && this.hold(),
      },
    });
    this.node = el("div", { class: "motion", role: "group", "aria-label": t("Animation"), hidden: true }, this.button, this.range);
  }

  get last() {
    return this.film.clocks.length - 1;
  }

  /**
   * Take the film of a new picture, or none. While the same chart is computed again, what plays goes on and what was
   * stopped by hand stays; what had come to its end begins anew.
   * @param {Film | null} film
   */
  take(film) {
    const before = this.film;
    const share = before ? this.frame / Math.max(1, this.last) : 0;
    before?.end();
    this.film = film;
    this.node.hidden = !film;
    if (!film) return this.pause();
    this.range.max = String(this.last);
    if (before && (this.ticking || this.held)) return this.show(Math.round(share * this.last));
    this.held = false;
    this.show(calm() ? this.last : 0);
    if (!calm()) this.play();
  }

  /** Play or pause; false if nothing moves. */
  toggle() {
    if (!this.film) return false;
    this.held = Boolean(this.ticking);
    if (this.ticking) this.pause();
    else this.play();
    return true;
  }

  play() {
    if (this.frame >= this.last) this.show(0);
    this.due = performance.now() + PACE;
    this.ticking = requestAnimationFrame((now) => this.tick(now));
    this.label();
  }

  pause() {
    cancelAnimationFrame(this.ticking);
    this.ticking = 0;
    this.label();
  }

  /** Every frame is shown, for as long as its time or, on a slow machine, longer. */
  tick(now) {
    if (now >= this.due - EARLY) {
      this.due = Math.max(this.due + PACE, now);
      this.show(this.frame + 1);
    }
    if (this.frame >= this.last) this.pause();
    else this.ticking = requestAnimationFrame((next) => this.tick(next));
  }

  /** Whoever takes the slider stops the film, also where the slider stands already: no input event tells of that. */
  hold() {
    this.held = true;
    this.pause();
  }

  scrub(frame) {
    this.hold();
    this.show(frame);
  }

  show(frame) {
    this.frame = frame;
    this.film.show(frame);
    this.range.value = String(frame);
    this.range.style.setProperty("--filled", `${(100 * frame) / Math.max(1, this.last)}%`);
    this.range.setAttribute("aria-valuetext", this.film.clocks[frame]);
  }

  label() {
    this.button.textContent = this.ticking ? "❚❚" : "▶";
    this.button.setAttribute("aria-pressed", String(Boolean(this.ticking)));
  }
}
