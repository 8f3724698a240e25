/** The right side: presets, subject, knobs, hypotheses, numbers. */
import { byId, el } from "./dom.js";
import { Seed, Slider, control } from "./knobs.js";
import { t } from "./language.js";
import * as play from "./play.js";
import { BREAKER, BROKEN, BUILT_IN, values } from "./state.js";
import { Hypotheses, Numbers } from "./verdict.js";

export class Panel {
  /**
   * @param {{preset: (name: string | null) => void, breaker: () => void, knob: (name: string, value: any) => void,
   *          seed: (value: number) => void, reset: () => void, ready: () => boolean}} actions
   * @param {import("./subjects.js").Subjects} subjects
   */
  constructor(actions, subjects) {
    this.actions = actions;
    this.subjects = subjects;
    this.hypotheses = new Hypotheses();
    this.numbers = new Numbers();
    this.seed = new Seed((value) => actions.seed(value));
  }

  /** The controls of a theorem. */
  build(theorem) {
    this.theorem = theorem;
    this.controls = new Map(theorem.knobs.map((knob) => [knob.name, this.control(knob)]));
    this.presets = this.presetButtons(theorem);
    const reset = el(
      "button",
      { type: "button", class: "reset", "aria-keyshortcuts": "R", on: { click: () => this.actions.reset() } },
      `${t("Reset")} `,
      el("kbd", { text: "R" }),
    );
    const knobs = [...this.controls.values()].map((c) => c.node);
    byId("controls").replaceChildren(
      el(
        "section",
        { class: "block", "aria-label": t("Presets") },
        el("h2", { text: t("Presets") }),
        el("div", { class: "presets" }, ...this.presets.map((p) => p.node)),
      ),
      this.subjects.node,
      el(
        "section",
        { class: "block", "aria-label": t("Parameters") },
        el("h2", {}, t("Parameters"), reset),
        ...knobs,
        this.seed.node,
      ),
      this.hypotheses.node,
      this.numbers.node,
    );
    byId("controls").scrollTop = 0;
    this.numbers.clear();
    this.hypotheses.show(theorem.assumes.map((a) => ({ ...a, status: "" })));
  }

  control(knob) {
    return control(
      knob,
      (value) => {
        this.controls.get(knob.name).complain("");
        this.actions.knob(knob.name, value);
      },
      (slider) => play.toggle(slider, this.actions.ready),
    );
  }

  presetButtons(theorem) {
    const made = (name, choose, on) => ({
      on,
      node: el("button", {
        type: "button",
        class: "preset",
        text: titled(SHOWN[name] ?? name),
        "aria-pressed": "false",
        on: { click: choose },
      }),
    });
    const buttons = theorem.presets.map(({ name }) =>
      made(
        name,
        () => this.actions.preset(name),
        (s) => s.subject !== BREAKER && (s.preset || theorem.presets[0].name) === name,
      ),
    );
    const named = theorem.presets.some((p) => p.name === BROKEN);
    if (theorem.breakable && !named)
      buttons.push(
        made(
          BROKEN,
          () => this.actions.breaker(),
          (s) => s.subject === BREAKER,
        ),
      );
    return buttons;
  }

  /** Show a state on all controls. */
  show(state) {
    const now = values(this.theorem, state);
    const own = state.subject !== BUILT_IN;
    for (const [name, c] of this.controls) {
      c.show(now[name]);
      c.disable(own && this.theorem.subject_knobs.includes(name));
    }
    this.seed.show(state.seed);
    this.subjects.show(this.theorem, state.subject);
    this.presetState(state);
  }

  /** Which preset is in force, and whether something was changed by hand since. */
  presetState(state) {
    for (const { on, node } of this.presets) {
      const pressed = on(state);
      node.setAttribute("aria-pressed", String(pressed));
      node.classList.toggle("changed", pressed && Object.keys(state.knobs).length > 0);
    }
  }

  /** What a result says. */
  result(html) {
    this.hypotheses.show(html.checks);
    this.numbers.show(html.numbers);
  }

  /** An error that belongs to one knob; false if none is named. */
  complain(name, text) {
    const found = this.controls.get(name);
    if (found) found.complain(text);
    return Boolean(found);
  }

  clearComplaints() {
    for (const c of this.controls.values()) c.complain("");
  }

  /** Play or pause the slider in focus; else the chart, if it moves; else the slider that plays, or the first. */
  playSome(motion) {
    const sliders = [...this.controls.values()].filter((c) => c instanceof Slider && !c.range.disabled);
    const focused = sliders.find((c) => c.node.contains(document.activeElement));
    if (!focused && motion.toggle()) return;
    const chosen = focused || play.playing() || sliders[0];
    if (chosen) play.toggle(chosen, this.actions.ready);
  }
}

/** The names of presets that most theorems have. */
const SHOWN = { textbook: t("textbook"), [BROKEN]: t("broken on purpose") };

const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1);
