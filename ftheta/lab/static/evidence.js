/** The evidence: meaning of the verdict, claims with their numbers, tables, provenance; and errata in the sources. */
import { el, rendered, withHtml } from "./dom.js";
import { t } from "./language.js";
import { partMark } from "./verdict.js";

/** A folded panel that is filled only while it is open. */
export class Evidence {
  constructor(verdicts) {
    this.verdicts = verdicts;
    this.body = el("div", { class: "evidence" });
    this.node = el(
      "details",
      { class: "panel how", on: { toggle: () => this.fill() } },
      el("summary", {}, el("h2", { text: t("Evidence") })),
      this.body,
    );
    this.result = null;
  }

  show(result) {
    this.result = result;
    this.filled = false;
    this.fill();
  }

  clear() {
    this.result = null;
    this.body.replaceChildren();
  }

  fill() {
    if (!this.node.open || !this.result || this.filled) return;
    this.filled = true;
    const { verdict, html } = this.result;
    this.body.replaceChildren(
      ...[
        this.meaning(verdict),
        claims(html.claims),
        claims(html.examples || [], t("Examples (not about the subject)")),
        numbers(html.example_numbers || []),
        ...(html.tables || []).map(table),
        provenance(html.how || []),
      ].filter(Boolean),
    );
  }

  /** The six words, the one that was earned in front. */
  meaning(verdict) {
    const rows = Object.values(this.verdicts).map((look) =>
      el(
        "li",
        { class: look.word === verdict.word ? "here" : "" },
        el("span", { class: `pill ${look.family}`, text: `${look.sign} ${look.word}` }),
        el("span", { text: look.means }),
      ),
    );
    return el("div", {}, el("h3", { text: t("What the verdict means") }), el("ul", { class: "meanings" }, ...rows));
  }
}

function claims(rows, title = t("Claims")) {
  if (!rows.length) return null;
  const head = [t("Claim"), t("Verdict"), t("Measured"), t("Bound"), t("Slack"), t("Evidence")];
  const body = rows.map((claim) =>
    el(
      "tr",
      {},
      withHtml("th", partMark(claim.part) + claim.what_html, { scope: "row" }),
      el("td", {}, pill(claim)),
      ...["measured", "bound", "slack"].map((key) => el("td", { class: "right", text: claim[key] })),
      el("td", {}, withHtml("span", claim.reason_html), ...claim.remarks.map((text) => el("p", { text }))),
    ),
  );
  return scrolling(title, tableOf(head, body, 2));
}

/** The numbers of the examples: label (HTML), value, how it is known. */
function numbers(rows) {
  if (!rows.length) return null;
  const body = rows.map(([label, value, basis]) =>
    el("tr", {}, withHtml("th", label, { scope: "row" }), el("td", { class: "right", text: value }), el("td", { text: basis })),
  );
  return scrolling(t("Numbers of the examples"), tableOf([t("Number"), t("Value"), t("Evidence")], body, 1));
}

function table({ title_html: title, columns, rows }) {
  const body = rows.map(([first, ...rest]) =>
    el(
      "tr",
      {},
      withHtml("th", first, { scope: "row" }),
      ...rest.map((cell) => withHtml("td", cell, { class: "right" })),
    ),
  );
  const shown = scrolling("", tableOf(columns, body, 1));
  shown.prepend(withHtml("h3", title));
  return shown;
}

function tableOf(head, body, left) {
  const titles = head.map((name, i) => el("th", { scope: "col", class: i < left || name === t("Evidence") ? "" : "right", text: name }));
  return el("table", {}, el("thead", {}, el("tr", {}, ...titles)), el("tbody", {}, ...body));
}

const scrolling = (title, content) =>
  el("div", {}, title && el("h3", { text: title }), el("div", { class: "scroll", tabindex: "0" }, content));

const pill = (look) => el("span", { class: `pill ${look.family}`, text: `${look.sign} ${look.word}` });

function provenance(rows) {
  const body = rows.flatMap((row) => [withHtml("dt", row.term_html), withHtml("dd", row.html)]);
  return el("div", {}, el("h3", { text: t("Grounds and provenance") }), el("dl", { class: "provenance" }, ...body));
}

/** The errata of the sources, and their formulas as printed with what was found. */
export class Errata {
  constructor() {
    this.words = el("div");
    this.printed = el("div");
    this.node = el(
      "section",
      { class: "panel errata", "aria-label": t("Errata") },
      el("h2", { text: t("Errata in the sources") }),
      this.words,
      this.printed,
    );
  }

  show(errata, printed) {
    this.node.hidden = !errata && !printed.length;
    rendered(this.words, errata ? `<p>${errata}</p>` : "");
    this.printed.replaceChildren(...printed.map(wrong));
  }
}

function wrong(claim) {
  const against = t("{left} against {right}", { left: claim.measured, right: claim.bound });
  const told = el("p", {}, pill(claim), " ", withHtml("span", claim.what_html));
  return el(
    "div",
    { class: "printed" },
    told,
    el("p", { class: "faint", text: against }),
    ...claim.remarks.map((text) => el("p", { class: "faint", text })),
  );
}
