/** The verdict bar, the hypotheses and the numbers of a result. */
import { el, escaped, rendered, withHtml, write } from "./dom.js";
import { t } from "./language.js";
import { speak } from "./toast.js";

const MARKS = { proved: ["✓", "holds"], sampled: ["~", "open"], assumed: ["?", "open"], failed: ["✗", "refuted"] };
const STATUS = { proved: t("holds"), sampled: t("checked on samples"), assumed: t("assumed"), failed: t("fails") };

/** The letter of a part of the statement, as (a), before what checks it: as HTML. */
export const partMark = (part) => (part ? `<b class="of-part" title="${escaped(t("checks part {part}", { part }))}">${escaped(part)}</b> ` : "");

export class VerdictBar {
  constructor(force) {
    this.sign = el("span", { class: "sign", "aria-hidden": "true" });
    this.word = el("strong", { class: "word" });
    this.summary = el("span", { class: "summary" });
    this.parts = el("ul", { class: "part-verdicts", "aria-label": t("Claims by the part of the statement that they check") });
    this.force = el("button", { type: "button", class: "force", hidden: true, on: { click: force } });
    this.node = el(
      "section",
      { class: "verdict unchecked", "aria-label": t("Verdict") },
      this.sign,
      this.word,
      this.summary,
      this.force,
      this.parts,
    );
    this.wait();
  }

  wait() {
    this.look({ sign: "…", word: t("computing"), family: "unchecked" }, "", "");
  }

  look({ sign, word, family, means }, html, title = means) {
    this.node.className = `verdict ${family}`;
    write(this.sign, sign);
    write(this.word, word);
    this.node.title = title || "";
    rendered(this.summary, html);
    this.parts.hidden = true;
  }

  /** @param {any} verdict of the result @param {{checks: any[], claims: any[]}} html @param {boolean} forced */
  show(verdict, { checks, claims }, forced) {
    const failed = checks.filter((check) => check.status === "failed");
    const why = failed.map((check) => `${t("Hypothesis fails:")} ${check.says_html} (${check.note_html})`).join("; ");
    const vacuous = verdict.remarks.length ? ` <span class="remark">${escaped(verdict.remarks.join("; "))}</span>` : "";
    const told = [why && `<b>${why}</b>`, verdict.summary_html].filter(Boolean).join("; ");
    this.look(verdict, told + vacuous);
    this.showParts(claims.filter((claim) => claim.part));
    this.force.hidden = !failed.length && !forced;
    write(this.force, forced ? t("Respect the hypotheses") : t("Measure anyway"));
    speak(`${verdict.word}. ${this.summary.textContent}`);
  }

  /** What claims earned, beside the letter of the part that they check: one mark for all that earned the same. */
  showParts(claims) {
    this.parts.hidden = !claims.length;
    const alike = Map.groupBy(claims, (claim) => `${claim.part} ${claim.sign}`);
    const item = ([text, group]) => {
      const pill = el("span", { class: `pill ${group[0].family}`, text });
      const said = group.map((claim) => el("span", {}, ` ${claim.word}: `, withHtml("span", claim.what_html)));
      const title = said.map((node) => node.textContent.trim()).join("\n");
      return el("li", { title }, pill, el("span", { class: "hidden-visually" }, ...said));
    };
    this.parts.replaceChildren(...[...alike].map(item));
  }

  /** The computation did not give a result. */
  trouble(text) {
    this.look({ sign: "!", word: t("not computed"), family: "unchecked" }, escaped(text));
    this.force.hidden = true;
    speak(`${t("Not computed.")} ${text}`);
  }
}

/** The hypotheses, before a result (`assumes`) or with what was found (`checks`). */
export class Hypotheses {
  constructor() {
    this.list = el("ul", { class: "checks" });
    this.node = el(
      "section",
      { class: "block", "aria-label": t("Hypotheses") },
      el("h2", { text: t("Hypotheses") }),
      this.list,
    );
    this.key = "";
  }

  show(checks) {
    const key = JSON.stringify(checks);
    if (key === this.key) return;
    this.key = key;
    this.node.hidden = !checks.length;
    this.list.replaceChildren(...checks.map(hypothesis));
  }
}

function hypothesis(check) {
  const [mark, family] = MARKS[check.status] || ["·", "unchecked"];
  const sign = el("span", {
    class: `mark ${family}`,
    text: mark,
    role: "img",
    "aria-label": STATUS[check.status] || t("not checked yet"),
  });
  const status =
    check.status && check.status !== "proved"
      ? el("span", { class: "status", text: ` ${STATUS[check.status]}` })
      : null;
  const note = check.note_html ? el("p", { class: "note" }, withHtml("span", check.note_html), status) : null;
  const remedy =
    check.status === "failed" && check.remedy_html
      ? el("p", { class: "remedy" }, el("b", { text: `${t("To meet it:")} ` }), withHtml("span", check.remedy_html))
      : null;
  return el("li", { class: check.status || "" }, sign, el("div", {}, withHtml("p", check.says_html), note, remedy));
}

/** The table of numbers. */
export class Numbers {
  constructor() {
    this.body = el("dl", { class: "numbers" });
    this.node = el(
      "section",
      { class: "block", "aria-label": t("Numbers"), hidden: true },
      el("h2", { text: t("Numbers") }),
      this.body,
    );
    this.rows = new Map();
  }

  /** @param {[string, string, string][]} rows label (HTML), value, basis */
  show(rows) {
    this.node.hidden = !rows.length;
    const found = rows.map(([label, value, basis]) => this.row(label, value, basis));
    if (found.length !== this.body.children.length || found.some((row, i) => row !== this.body.children[i]))
      this.body.replaceChildren(...found);
  }

  /** Rows are kept by label: while a slider moves only their values are written. */
  row(label, value, basis) {
    if (!this.rows.has(label)) {
      const parts = { value: el("dd"), node: el("div") };
      parts.node.append(withHtml("dt", label), parts.value);
      this.rows.set(label, parts);
    }
    const { node, value: place } = this.rows.get(label);
    write(place, value);
    place.title = basis;
    return node;
  }

  clear() {
    this.rows.clear();
    this.show([]);
  }
}
