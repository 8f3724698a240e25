/** The middle of a theorem's page: statement, verdict, chart, errata, evidence. */
import { Stage } from "./chart.js";
import { byId, el, escaped, rendered, withHtml, write } from "./dom.js";
import { Errata, Evidence } from "./evidence.js";
import { Hints } from "./hints.js";
import { t } from "./language.js";
import { LessonPanel } from "./lesson.js";
import { Progress } from "./progress.js";
import { PROJECTOR_ZOOM, projector } from "./theme.js";
import { VerdictBar, partMark } from "./verdict.js";

const LEAST_HEIGHT = 360;
const MOST_HEIGHT = 1000;
const A_ROW = 34; // pixels, of the tabs or the title over a chart
const FORMULA = 1.24; // em, as in the style sheet
const LEAST_LETTERS = 0.7; // of that

export class TheoremPage {
  /**
   * @param {any} catalogue
   * @param {{force: () => void, cancel: () => void, tab: (index: number) => void,
   *   drag: (values: Record<string, number>) => void, resized: () => void}} actions
   */
  constructor(catalogue, actions) {
    this.actions = actions;
    this.titles = new Map(catalogue.theorems.map(({ id, title }) => [id, title]));
    this.title = el("h1");
    this.gist = el("p", { class: "gist" });
    this.statement = el("div", { class: "statement" });
    this.assumes = el("p", { class: "assumes" });
    this.bar = new VerdictBar(actions.force);
    this.progress = new Progress(actions.cancel);
    this.stage = new Stage(actions.drag);
    this.tabs = el("div", {
      class: "tabs",
      role: "tablist",
      "aria-label": t("Charts"),
      hidden: true,
      on: { keydown: (event) => this.tabKey(event) },
    });
    this.caption = el("p", { class: "caption" });
    this.chart = el(
      "section",
      { class: "panel chart", "aria-label": t("Chart") },
      this.progress.node,
      this.tabs,
      this.caption,
      this.stage.motion.node,
      this.stage.node,
    );
    this.lesson = new LessonPanel(this.titles);
    this.hints = new Hints([this.statement, this.lesson.node]);
    this.errata = new Errata();
    this.evidence = new Evidence(catalogue.verdicts);
    this.related = el("p", { class: "related" });
    this.sources = el("ul", { class: "sources" });
    this.about = el("details", { class: "panel" }, el("summary", {}, el("h2", { text: t("Sources") })), this.sources);
    const card = el(
      "section",
      { class: "panel card-statement", "aria-label": t("Statement") },
      this.title,
      this.gist,
      this.statement,
      this.assumes,
      this.related,
    );
    this.node = el(
      "div",
      { class: "theorem" },
      card,
      this.bar.node,
      this.chart,
      this.lesson.node,
      this.errata.node,
      this.evidence.node,
      this.about,
      this.hints.node,
    );
    this.observer = new ResizeObserver(() => this.resized());
  }

  /** Put a theorem on the page, before anything is computed. */
  build(theorem) {
    this.theorem = theorem;
    this.result = null;
    write(this.title, theorem.title);
    rendered(this.gist, theorem.gist_html || "");
    this.gist.hidden = !theorem.gist_html;
    rendered(this.statement, theorem.statement_html);
    this.relate(theorem.see_also || []);
    rendered(this.assumes, theorem.assumes.map((a) => `<span>${a.says_html}</span>`).join(" "));
    this.assumes.hidden = !theorem.assumes.length;
    this.bar.wait();
    this.stage.clear();
    this.tabs.hidden = true;
    rendered(this.caption, "");
    this.lesson.show(theorem);
    this.hints.take(theorem.lesson?.symbols ?? []);
    this.errata.show(theorem.errata_html, []);
    this.evidence.clear();
    this.sources.replaceChildren(...Object.values(theorem.sources).map((text) => el("li", { text })));
    byId("centre").replaceChildren(this.node);
    byId("centre").scrollTop = 0;
    this.measure();
    this.observer.observe(byId("centre"));
  }

  /** Links to the theorems that a reader may want next. */
  relate(ids) {
    const links = ids
      .filter((id) => this.titles.has(id))
      .map((id) => el("a", { href: `#/${id}`, text: this.titles.get(id) }));
    this.related.hidden = !links.length;
    this.related.replaceChildren(`${t("See also:")} `, ...links.flatMap((link, i) => (i ? [" · ", link] : [link])));
  }

  leave() {
    this.observer.disconnect();
    this.stage.clear();
    this.progress.show(null);
  }

  get zoom() {
    return projector() ? PROJECTOR_ZOOM : 1;
  }

  /** The room for a chart in its own pixels: the width of the column, the height that is left of the window. */
  measure() {
    fit(this.node);
    const style = getComputedStyle(this.chart);
    const width = this.chart.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const rows = [this.tabs, this.caption, this.stage.motion.node].reduce((sum, row) => sum + row.offsetHeight, 0);
    const above = this.chart.offsetTop - this.node.offsetTop + 76 + (this.result ? rows : A_ROW);
    const height = Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, byId("centre").clientHeight - above));
    this.size = { width: this.own(width), height: this.own(Math.min(height, width)) };
    this.stage.node.style.minHeight = `${Math.round(this.size.height * this.zoom)}px`;
  }

  /** Pixels of the page as pixels of a chart. */
  own(pixels) {
    return Math.round(pixels / this.zoom);
  }

  resized() {
    const { width, height } = this.size;
    this.fitTabs();
    this.measure();
    if (this.size.width !== width || this.size.height !== height) this.actions.resized();
  }

  /** Show a result; resolves when its chart is painted. */
  async show(result, state) {
    this.result = result;
    this.bar.show(result.verdict, result.html, state.force);
    this.errata.show(this.theorem.errata_html, result.html.as_printed);
    this.evidence.show(result);
    this.showTabs(result.charts, state.chart);
    return this.paint(state.chart);
  }

  async paint(index) {
    const { charts } = this.result;
    const chart = charts[Math.min(index, charts.length - 1)];
    if (!chart) {
      this.stage.clear(this.without());
      return true;
    }
    if (!chart.spec) return false; // drawn for another tab; the answer for this one is on its way
    rendered(this.caption, captioned(chart));
    return this.stage.paint(chart, { zoom: this.zoom, label: chart.described || chart.title });
  }

  /** In the place of a chart: which hypotheses fail and how to meet them. */
  without() {
    const failed = this.result.html.checks.filter((check) => check.status === "failed");
    if (!failed.length) return el("p", { class: "nothing", text: t("This result has no chart.") });
    const line = (word, html) => el("p", {}, el("b", { text: word }), withHtml("span", html));
    const told = failed.map((check) =>
      el(
        "div",
        { class: "unmet" },
        line(`${t("Requires:")} `, check.says_html),
        line(`${t("Here:")} `, check.note_html),
        check.remedy_html && line(`${t("To meet it:")} `, check.remedy_html),
      ),
    );
    return el("div", { class: "nothing" }, ...told);
  }

  showTabs(charts, index) {
    this.tabs.hidden = charts.length < 2;
    const front = Math.min(index, charts.length - 1);
    const key = charts.map(captioned).join("\n");
    const same = key === this.tabKeys;
    if (same && front === this.front) return;
    this.front = front;
    if (!same) {
      this.tabKeys = key;
      const tab = (chart, i) =>
        withHtml("button", captioned(chart), {
          type: "button",
          role: "tab",
          title: chart.title,
          on: { click: () => this.actions.tab(i) },
        });
      this.tabs.replaceChildren(...charts.map(tab));
      this.tabs.style.setProperty("--count", String(charts.length));
    }
    [...this.tabs.children].forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === front));
      tab.tabIndex = i === front ? 0 : -1;
    });
    const { offsetLeft = 0 } = this.tabs.children[front] ?? {};
    this.tabs.scrollLeft = offsetLeft - this.tabs.offsetLeft;
    this.caption.hidden = charts.length > 1;
    this.fitTabs();
  }

  /** One row of tabs: where their titles are too long for it, the others than the one in front are cut. */
  fitTabs() {
    this.tabs.classList.remove("tight");
    this.tabs.classList.toggle("tight", this.tabs.scrollWidth > this.tabs.clientWidth);
  }

  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...this.tabs.children];
    const to = (all.indexOf(document.activeElement) + step + all.length) % all.length;
    this.actions.tab(to);
    all[to].focus();
  }
}

/** Long displayed formulas in smaller letters, so that they are seen whole; what is longer still can be scrolled. */
function fit(page) {
  for (const formula of page.querySelectorAll('math:not([display="block"])')) {
    formula.classList.remove("wide");
    const room = formula.parentElement.closest("p, div, li, dd").clientWidth;
    formula.classList.toggle("wide", formula.getBoundingClientRect().width > room);
  }
  for (const formula of page.querySelectorAll('.statement math[display="block"]')) {
    formula.style.fontSize = "";
    const share = formula.clientWidth / formula.scrollWidth;
    if (share < 1) formula.style.fontSize = `${Math.max(LEAST_LETTERS, 0.97 * share) * FORMULA}em`;
  }
}

const captioned = (chart) => partMark(chart.part) + (chart.title_html ?? escaped(chart.title));
