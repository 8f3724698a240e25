/** The lesson of a theorem: why one cares, its parts with what checks them, the proof's idea, things to try, what breaks it. */
import { el, withHtml } from "./dom.js";
import { t } from "./language.js";
import { BROKEN, fresh, toHash } from "./state.js";

export class LessonPanel {
  /** @param {Map<string, string>} titles of the theorems by id */
  constructor(titles) {
    this.titles = titles;
    this.node = el("details", { class: "panel lesson", hidden: true });
  }

  /** @param {any} theorem */
  show(theorem) {
    const lesson = theorem.lesson;
    this.node.hidden = !lesson;
    this.node.open = false;
    if (!lesson) return this.node.replaceChildren();
    const trials = lesson.trials.map((trial) => {
      const chosen = { preset: trial.preset || null, knobs: { ...trial.knobs }, force: trial.preset === BROKEN };
      const state = { ...fresh(theorem.id), ...chosen };
      return el("li", {}, el("a", { href: toHash(state), text: t("Try") }), " ", withHtml("span", trial.look));
    });
    const leads = lesson.leads.map(([id, why]) =>
      el("li", {}, el("a", { href: `#/${id}`, text: this.titles.get(id) || id }), ": ", withHtml("span", why)),
    );
    const symbols = lesson.symbols.flatMap(([symbol, means]) => [withHtml("dt", symbol), withHtml("dd", means)]);
    this.node.replaceChildren(
      el("summary", {}, el("h2", { text: t("Lesson") })),
      withHtml("p", lesson.why),
      el("ol", { class: "parts" }, ...lesson.parts.map(partItem)),
      heading(t("Symbols")),
      el("dl", { class: "symbols" }, ...symbols),
      heading(t("Idea of the proof")),
      withHtml("p", lesson.idea),
      heading(t("Try this")),
      el("ul", {}, ...trials),
      heading(t("What breaks it")),
      withHtml("p", lesson.breaks),
      heading(t("Where it leads")),
      el("ul", {}, ...leads),
    );
  }
}

const heading = (text) => el("h3", { text });

/** A part, and below it what checks it. */
function partItem(part) {
  const claims = part.claims.map((words) => t("claim “{words} …”", { words }));
  const checks = [...claims, ...part.charts.map((title) => t("picture “{title}”", { title }))];
  const below = checks.length ? el("p", { class: "faint", text: t("Checked by {checks}.", { checks: checks.join("; ") }) }) : null;
  return el("li", {}, withHtml("span", part.says), below);
}
