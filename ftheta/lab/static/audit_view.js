/** Findings, key figures and sections of an audit. */
import { draw } from "./chart.js";
import { el, rendered, withHtml } from "./dom.js";
import { t, tn } from "./language.js";

const MOST = 12; // findings that are shown before the fold

/** Findings, worst first. */
export function findingsList(findings) {
  const list = (some) => el("ol", { class: "findings" }, ...some.map(finding));
  const more = findings.slice(MOST);
  const rest = more.length && el("details", {}, el("summary", { text: t("{n} more", { n: more.length }) }), list(more));
  return el("div", {}, list(findings.slice(0, MOST)), rest || null);
}

function finding(found) {
  const said = el(
    "div",
    {},
    withHtml("h3", found.says_html),
    found.means_html && withHtml("p", found.means_html, { class: "means" }),
    found.remedy_html && withHtml("p", `→ ${found.remedy_html}`),
  );
  const known = el("p", { class: "known" }, withHtml("span", found.basis_html), el("a", { href: "#/audit", text: found.source, on: { click: (event) => jump(event, found.question) } }));
  return el("li", {}, el("span", { class: `pill ${found.family}`, text: found.severity }), said, known);
}

function jump(event, question) {
  event.preventDefault();
  const section = document.getElementById(`audit-${question}`);
  section?.scrollIntoView();
  section?.focus();
}

/** The numbers that people look for first. */
export const tiles = (figures) =>
  figures.map((f) =>
    el("li", { class: "panel" }, el("span", { text: f.label }), el("b", { text: f.value }), el("span", { text: f.below })),
  );

/** One question: pictures, facts, tables. */
export class SectionView {
  constructor(id, heading = "h2") {
    this.title = el(heading);
    this.body = el("div", { class: "sides" });
    this.node = el("section", { class: "panel", id: `audit-${id}`, tabindex: "-1" }, this.title, this.body);
    this.asked = 0;
  }

  /** @returns {Promise<void>} when its charts are drawn; the newest answer wins. */
  async show(frame) {
    const ticket = ++this.asked;
    const charts = await Promise.all(frame.charts.map(figure));
    if (ticket !== this.asked) return;
    rendered(this.title, frame.title);
    const told = [factsTable(frame.facts), ...frame.tables.map(dataTable)].filter(Boolean);
    const columns = [charts, told].filter((part) => part.length).map((part) => el("div", {}, ...part));
    this.body.replaceChildren(...columns);
    this.node.dataset.charts = String(charts.length);
  }
}

async function figure(chart) {
  const canvas = await draw(chart.spec, devicePixelRatio);
  canvas.style.width = `${(canvas.width / devicePixelRatio).toFixed(2)}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", chart.described || chart.title);
  return el("figure", {}, withHtml("figcaption", chart.title_html), canvas);
}

function factsTable(facts) {
  if (!facts.length) return null;
  const row = (fact) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, withHtml("span", fact.name_html), fact.note_html && withHtml("small", fact.note_html)),
      el("td", { text: fact.value, class: fact.value.length < 24 ? "right" : "" }),
      el("td", { class: "how", text: fact.known }),
    );
  return scrolled(el("table", { class: "facts" }, el("tbody", {}, ...facts.map(row))));
}

function dataTable(table) {
  const head = el("tr", {}, ...table.columns.map((name) => el("th", { scope: "col", text: name })));
  const rows = table.rows.map((cells) => el("tr", {}, ...cells.map((cell) => withHtml("td", cell))));
  const whole = el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows));
  const label = el("span", {});
  rendered(label, table.title_html);
  return el("details", {}, el("summary", {}, label, ` (${tn("{n} row", "{n} rows", table.of)})`), scrolled(whole));
}

const scrolled = (table) => el("div", { class: "scroll", tabindex: "0", role: "group" }, table);
