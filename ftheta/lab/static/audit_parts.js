/** What one may move when an audit is done: the ε, the row, the plane through three rows. */
import { SectionView } from "./audit_view.js";
import { el, write } from "./dom.js";
import { t } from "./language.js";
import { speak } from "./toast.js";

const STEPS = 400; // of the slider of ε

export class Explore {
  /** @param {(part: string, rows: number[]) => void} ask */
  constructor(ask) {
    this.ask = ask;
    this.radii = [];
    this.slider = el("input", { type: "range", id: "audit-epsilon", min: 0, max: STEPS, on: { input: () => this.count() } });
    this.said = el("output", { for: "audit-epsilon" });
    this.epsilon = el("div", { class: "explore" }, el("label", { for: "audit-epsilon", text: "ε (ℓ∞)" }), this.slider, this.said);
    this.row = number("audit-row-number", 0);
    this.corners = [0, 1, 2].map((k) => number(`audit-corner-${k}`, k));
    this.rowForm = form(t("Row"), t("Look at it"), [this.row], () => this.request("row", [this.row]));
    this.sliceForm = form(t("Plane through rows"), t("Draw its pieces"), this.corners, () => this.request("slice", this.corners));
    this.complaint = el("p", { class: "complaint", role: "alert", hidden: true });
    this.views = { row: new SectionView("row", "h3"), slice: new SectionView("slice", "h3") };
    Object.values(this.views).forEach((view) => (view.node.hidden = true));
    this.node = el(
      "section",
      { class: "panel", "aria-label": t("Explore"), hidden: true },
      el("h2", { text: t("Move the ε, the row, the plane") }),
      this.epsilon,
      this.rowForm,
      this.sliceForm,
      this.complaint,
      this.views.row.node,
      this.views.slice.node,
    );
  }

  get shown() {
    return !this.node.hidden;
  }

  hide() {
    this.node.hidden = true;
    Object.values(this.views).forEach((view) => (view.node.hidden = true));
  }

  /** @param {[number | null | false, number | false][]} radii of each row tried: the distance met and the certified radius, false where not computed @param {number} rows */
  offer(radii, rows) {
    this.radii = radii;
    this.epsilon.hidden = !radii.length;
    this.rowForm.hidden = !rows;
    this.sliceForm.hidden = rows < 3;
    this.node.hidden = !radii.length && !rows;
    [this.row, ...this.corners].forEach((input) => (input.max = String(rows - 1)));
    const sizes = radii.flat().filter((size) => size > 0);
    if (!sizes.length) return (this.epsilon.hidden = true);
    this.low = Math.log(Math.min(...sizes) / 2);
    this.high = Math.log(Math.max(...sizes) * 1.2);
    this.slider.value = String(STEPS / 2);
    this.count();
  }

  /** Certified and attacked accuracy at this ε: counted from the radii, nothing is computed again. */
  count() {
    const epsilon = Math.exp(this.low + (Number(this.slider.value) / STEPS) * (this.high - this.low));
    const n = this.radii.length;
    const share = (column, holds) => {
      const cells = this.radii.map((row) => row[column]);
      if (cells.includes(false)) return t("not computed");
      const k = cells.filter(holds).length;
      return t("{share} % ({k} of {n})", { share: Math.round((100 * k) / n), k, n });
    };
    const certified = share(1, (radius) => radius >= epsilon);
    const attacked = share(0, (met) => met === null || met > epsilon);
    const words = t("ε = {epsilon}: certified {certified}, attacked {attacked} of the rows tried", { epsilon: epsilon.toPrecision(3), certified, attacked });
    write(this.said, words);
    this.slider.setAttribute("aria-valuetext", words);
  }

  request(part, inputs) {
    this.complain("");
    const rows = inputs.map((input) => Number(input.value));
    if (inputs.some((input) => !input.reportValidity())) return;
    this.node.dataset.asked = `${part} ${rows.join(" ")}`;
    this.ask(part, rows);
  }

  async show(frame) {
    const view = this.views[frame.id];
    view.node.hidden = false;
    await view.show(frame);
    this.node.dataset.shown = this.node.dataset.asked;
    speak(frame.title);
  }

  complain(text) {
    write(this.complaint, text);
    this.complaint.hidden = !text;
  }
}

const number = (id, value) => el("input", { type: "number", id, min: 0, step: 1, value, required: true });

function form(text, action, inputs, act) {
  const labels = inputs.map((input, k) => el("label", { class: k ? "hidden-visually" : "", for: input.id, text: k ? t("{text}, number {k}", { text, k: k + 1 }) : text }));
  const fields = inputs.flatMap((input, k) => [labels[k], input]);
  const submit = (event) => (event.preventDefault(), act());
  return el("form", { class: "explore", on: { submit } }, ...fields, el("button", { type: "submit", text: action }));
}
