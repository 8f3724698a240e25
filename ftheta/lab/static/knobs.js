/** The controls of a theorem's knobs: sliders with a box to type in, choices, switches. */
import { el, withHtml, write } from "./dom.js";
import { t } from "./language.js";
import { read } from "./state.js";
import { track, written } from "./scales.js";

const FEW = 26; // letters of all choices together that fit side by side

/**
 * One control for each knob.
 * @typedef {Object} Control
 * @property {HTMLElement} node
 * @property {(value: any) => void} show
 * @property {(text: string) => void} complain   a message at the control; "" takes it away
 * @property {(off: boolean) => void} disable
 * @property {Slider} [slider]
 *
 * @param {import("./state.js").Knob} knob
 * @param {(value: any) => void} change
 * @param {(slider: Slider) => void} [play]
 * @returns {Control}
 */
export function control(knob, change, play) {
  if (knob.type === "bool") return new Switch(knob, change);
  if (knob.type === "str") return knob.knob.choices.length ? new Choice(knob, change) : new Words(knob, change);
  return new Slider(knob, change, play);
}

/** What every control has: a head with symbol and value, the plain meaning, and a place for complaints. */
class Control {
  constructor(knob, kind) {
    this.knob = knob;
    this.id = `knob-${knob.name}`;
    this.symbol = knob.knob.symbol
      ? withHtml("span", knob.symbol_html, { class: "symbol" })
      : el("span", { class: "symbol words", text: spaced(knob.name) });
    this.head = el("div", { class: "knob-head" }, this.symbol);
    this.says = withHtml("p", knob.says_html || "", { class: "says", id: `${this.id}-says` });
    if (!knob.says_html) write(this.says, knob.knob.says);
    this.complaint = el("p", { class: "complaint", role: "alert", hidden: true });
    this.node = el("div", { class: `knob ${kind}`, data: { knob: knob.name } }, this.head);
  }

  /** Its name for those who hear it. */
  get label() {
    return `${spaced(this.knob.name)}: ${this.knob.knob.says}`;
  }

  complain(text) {
    write(this.complaint, text);
    this.complaint.hidden = !text;
    this.node.classList.toggle("refused", Boolean(text));
  }

  disable(off) {
    this.node.classList.toggle("off", off);
    for (const input of this.node.querySelectorAll("input, button, select")) input.disabled = off;
  }
}

export class Slider extends Control {
  constructor(knob, change, play) {
    super(knob, "slider");
    this.track = track(knob);
    this.change = change;
    this.button =
      play &&
      el("button", {
        class: "play",
        type: "button",
        text: "▶",
        "aria-label": t("Play {name}", { name: spaced(knob.name) }),
        title: t("Play (space)"),
        "aria-pressed": "false",
        on: { click: () => play(this) },
      });
    this.box = el("input", {
      class: "box",
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": this.label,
      on: { change: () => this.typed(), focus: () => this.box.select(), keydown: (event) => this.boxKey(event) },
    });
    this.range = el("input", {
      type: "range",
      id: this.id,
      min: 0,
      max: this.track.count,
      step: 1,
      "aria-label": this.label,
      on: { input: () => this.slid() },
    });
    this.head.append(this.button || "", this.box);
    this.node.append(this.range, this.says, this.complaint);
  }

  slid() {
    this.moveTo(Number(this.range.value));
  }

  /** Set the value of a position, as if the slider had been moved there. */
  moveTo(position) {
    const value = this.track.value(position);
    if (Object.is(value, this.value)) return;
    this.show(value);
    this.change(value);
  }

  typed() {
    const value = read(this.knob, this.box.value);
    if (value === null) {
      this.complain(this.knob.type === "int" ? t("A whole number, please.") : t("A number, please."));
      return;
    }
    if (Object.is(value, this.value)) return this.show(value);
    this.show(value);
    this.change(value);
  }

  boxKey(event) {
    if (event.key === "Enter") this.typed();
    if (event.key === "Escape") {
      this.show(this.value);
      this.box.blur();
    }
  }

  show(value) {
    this.value = value;
    const position = Math.round(this.track.at(value));
    if (Number(this.range.value) !== position) this.range.value = String(position);
    this.range.style.setProperty("--filled", `${(100 * position) / this.track.count}%`);
    this.range.setAttribute("aria-valuetext", written(value));
    const { lo, hi } = this.knob.knob;
    this.node.classList.toggle("beyond", value < lo || value > hi);
    if (this.box.value !== written(value)) this.box.value = written(value);
    this.box.style.width = `${Math.max(3, this.box.value.length + 1.2)}ch`;
  }

  /** Shows whether the slider is being played. */
  playing(on) {
    if (!this.button) return;
    this.button.textContent = on ? "❚❚" : "▶";
    this.button.setAttribute("aria-pressed", String(on));
    this.node.classList.toggle("playing", on);
  }
}

class Choice extends Control {
  constructor(knob, change) {
    super(knob, "choice");
    const { choices } = knob.knob;
    const few = choices.length <= 4 && choices.join("").length <= FEW;
    this.input = few ? this.segments(choices, change) : this.menu(choices, change);
    this.node.append(this.input, this.says, this.complaint);
  }

  segments(choices, change) {
    const radio = (choice) =>
      el("input", { type: "radio", name: this.id, value: choice, on: { change: () => change(choice) } });
    const item = (choice) => el("label", { class: "segment" }, radio(choice), el("span", { text: choice }));
    return el("div", { class: "segments", role: "radiogroup", "aria-label": this.label }, ...choices.map(item));
  }

  menu(choices, change) {
    const items = choices.map((choice) => el("option", { value: choice, text: choice }));
    return el(
      "select",
      { id: this.id, "aria-label": this.label, on: { change: () => change(this.input.value) } },
      ...items,
    );
  }

  show(value) {
    if (this.input.tagName === "SELECT") this.input.value = value;
    else for (const radio of this.input.querySelectorAll("input")) radio.checked = radio.value === value;
  }
}

class Words extends Control {
  constructor(knob, change) {
    super(knob, "text");
    this.input = el("input", {
      type: "text",
      class: "field",
      id: this.id,
      "aria-label": this.label,
      on: { change: () => change(this.input.value) },
    });
    this.node.append(this.input, this.says, this.complaint);
  }

  show(value) {
    this.input.value = value;
  }
}

class Switch extends Control {
  constructor(knob, change) {
    super(knob, "switch");
    this.input = el("input", {
      type: "checkbox",
      role: "switch",
      id: this.id,
      "aria-label": this.label,
      on: { change: () => change(this.input.checked) },
    });
    this.head.append(this.input);
    this.node.append(this.says, this.complaint);
  }

  show(value) {
    this.input.checked = Boolean(value);
  }
}

/** The seed: a whole number, and a button for another one. */
export class Seed extends Control {
  constructor(change) {
    const knob = { name: "seed", type: "int", symbol_html: "", says_html: "", knob: { says: t("of the random numbers") } };
    super(knob, "seed");
    write(this.symbol, t("seed"));
    this.change = change;
    this.box = el("input", {
      class: "box",
      type: "text",
      inputmode: "numeric",
      autocomplete: "off",
      "aria-label": this.label,
      on: { change: () => this.typed() },
    });
    const roll = el("button", {
      class: "roll",
      type: "button",
      text: t("⚄ another"),
      "aria-label": t("Another seed"),
      on: { click: () => this.set(this.value + 1) },
    });
    this.head.append(roll, this.box);
    this.node.append(this.complaint);
  }

  typed() {
    const value = read(this.knob, this.box.value);
    if (value === null || value < 0) this.complain(t("A whole number from 0, please."));
    else this.set(value);
  }

  set(value) {
    this.complain("");
    this.show(value);
    this.change(value);
  }

  show(value) {
    this.value = value;
    this.box.value = String(value);
    this.box.style.width = `${Math.max(3, this.box.value.length + 1.2)}ch`;
  }
}

const spaced = (name) => name.replaceAll("_", " ");
