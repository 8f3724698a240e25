/** The index: a card for every theorem, with its own chart as a picture; chapters and the search choose among them. */
import { byId, el, withHtml, write } from "./dom.js";
import { t } from "./language.js";
import { overview } from "./overview.js";
import { Thumbnails } from "./thumbnails.js";

export class Cards {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.cards = new Map();
    this.thumbnails = new Thumbnails((id, verdict) => this.verdict(id, verdict));
    this.found = new Set(catalogue.theorems.map((t) => t.id));
    this.words = "";
    this.chapter = null;
    this.lead = el("p", { class: "lead", role: "status" });
    this.chips = [this.chip(null, t("All")), ...catalogue.chapters.map(({ id, title }) => this.chip(id, title))];
    this.none = el("p", {
      class: "nothing",
      hidden: true,
      text: t("Nothing matches. Try a word of a statement, such as “Lipschitz” or “regions”."),
    });
    const chips = el("div", { class: "chips", role: "group", "aria-label": t("Chapters") }, ...this.chips);
    const hero = el(
      "div",
      { class: "hero" },
      el("h1", { text: t("The mathematics of deep learning, running.") }),
      this.lead,
      el("p", { class: "to-audit" }, el("a", { href: "#/audit", text: t("Audit a network of your own") })),
      chips,
    );
    const titles = new Map(catalogue.theorems.map(({ id, title }) => [id, title]));
    this.overview = overview(titles, (id, node) => this.thumbnails.watch(id, node));
    const grid = el("div", { class: "grid" }, ...catalogue.theorems.map((t) => this.card(t)));
    this.node = el("div", { class: "catalogue" }, hero, this.overview, this.none, grid);
    this.choose();
  }

  chip(id, title) {
    const pick = () => {
      this.chapter = id;
      this.choose();
    };
    return el("button", {
      type: "button",
      class: "chip",
      text: title,
      data: { chapter: id ?? "" },
      on: { click: pick },
    });
  }

  card(theorem) {
    const picture = el("div", { class: "picture", "aria-hidden": "true" });
    const pill = el("span", { class: "pill", hidden: true });
    const line = withHtml("p", theorem.gist_html || theorem.statement_html, { class: "gist" });
    const title = el("h2", {}, el("a", { href: `#/${theorem.id}`, text: theorem.title }));
    const foot = el("div", { class: "foot" }, el("span", { class: "eyebrow", text: theorem.chapter_title }), pill);
    const node = el("article", { class: "card", data: { id: theorem.id } }, picture, title, line, foot);
    this.cards.set(theorem.id, { node, pill });
    this.thumbnails.watch(theorem.id, picture);
    return node;
  }

  /** What the default run of a theorem found. */
  verdict(id, verdict) {
    const look = this.catalogue.verdicts[verdict];
    const card = this.cards.get(id);
    if (!look || !card) return;
    card.pill.className = `pill ${look.family}`;
    card.pill.hidden = false;
    card.pill.title = look.means;
    write(card.pill, `${look.sign} ${look.word}`);
  }

  /** Show the cards that a search found. */
  filter(found, words) {
    this.found = found;
    this.words = words;
    this.choose();
  }

  choose() {
    let shown = 0;
    for (const { id, chapter } of this.catalogue.theorems) {
      const here = this.found.has(id) && (this.chapter === null || this.chapter === chapter);
      this.cards.get(id).node.hidden = !here;
      shown += Number(here);
    }
    for (const chip of this.chips)
      chip.setAttribute("aria-pressed", String((this.chapter ?? "") === chip.dataset.chapter));
    this.none.hidden = shown > 0;
    this.overview.hidden = Boolean(this.words || this.chapter);
    const all = this.catalogue.theorems.length;
    const promise = t("{n} theorems, each an experiment: move a slider, and bound, measurement and verdict are computed again.", { n: all });
    write(this.lead, this.words || this.chapter ? t("{shown} of {all} theorems", { shown, all }) : promise);
  }

  /** Put the index on the page. */
  show() {
    byId("centre").replaceChildren(this.node);
    this.thumbnails.resume();
  }

  hide() {
    this.thumbnails.pause();
  }
}
