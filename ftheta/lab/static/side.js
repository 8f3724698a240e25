/** The list of theorems by chapter, with a search that also filters the catalogue. */
import { byId, el, narrow } from "./dom.js";
import { t } from "./language.js";
import { keep, kept } from "./theme.js";

export class Side {
  /** @param {any} catalogue @param {(found: Set<string>, words: string) => void} found */
  constructor(catalogue, found) {
    this.catalogue = catalogue;
    this.found = found;
    this.links = new Map();
    this.input = el("input", {
      type: "search",
      id: "search",
      placeholder: t("Search theorems"),
      "aria-label": t("Search theorems"),
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => this.filter(), keydown: (event) => this.key(event) },
    });
    this.none = el("p", { class: "none", hidden: true, text: t("No theorem matches.") });
    this.groups = catalogue.chapters.map((chapter) => this.group(chapter));
    const field = el("div", { class: "search" }, this.input, el("kbd", { text: "/" }));
    const courses = el("a", { class: "to-courses", href: "#/courses", text: t("Courses") });
    this.links.set("courses", courses);
    const audit = el("a", { class: "to-audit", href: "#/audit", text: t("Audit a network") });
    this.links.set("audit", audit);
    byId("side").append(field, courses, audit, this.none, ...this.groups.map((g) => g.node));
    if (kept("side") === "closed") this.toggle(false);
  }

  group(chapter) {
    const theorems = this.catalogue.theorems.filter((t) => t.chapter === chapter.id);
    const items = theorems.map(({ id, title }) => {
      const link = el("a", { href: `#/${id}`, text: title });
      this.links.set(id, link);
      return el("li", {}, link);
    });
    const node = el("section", { class: "chapter" }, el("h2", { text: chapter.title }), el("ul", {}, ...items));
    return { node, theorems };
  }

  /** Every word has to occur in what the server says that a theorem is found by. */
  filter() {
    const words = wordsOf(this.input.value);
    const hits = new Set();
    for (const { node, theorems } of this.groups) {
      let any = false;
      for (const theorem of theorems) {
        const hit = words.every((word) => theorem.search.includes(word));
        this.links.get(theorem.id).parentElement.hidden = !hit;
        if (hit) hits.add(theorem.id);
        any ||= hit;
      }
      node.hidden = !any;
    }
    this.none.hidden = hits.size > 0;
    this.hits = hits;
    this.found(hits, this.input.value.trim());
  }

  key(event) {
    if (event.key === "Escape") {
      this.input.value = "";
      this.filter();
      this.input.blur();
    }
    const first = this.first();
    if (event.key === "Enter" && first && this.input.value) location.hash = `#/${first.id}`;
    if (event.key === "ArrowDown") byId("side").querySelector("li:not([hidden]) a")?.focus();
  }

  /** The first theorem that was found, those with the words in their titles before others. */
  first() {
    const found = this.catalogue.theorems.filter((t) => this.hits?.has(t.id));
    const words = wordsOf(this.input.value);
    return found.find((t) => words.every((word) => wordsOf(t.title).join(" ").includes(word))) ?? found[0];
  }

  /** Mark the theorem that is shown. */
  mark(id) {
    for (const [other, link] of this.links) {
      if (other === id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (narrow() && this.open) this.toggle(false); // on a phone it lies over the page
    const link = this.links.get(id);
    if (link) link.scrollIntoView({ block: "nearest" });
  }

  get open() {
    return document.documentElement.dataset.side !== "closed";
  }

  toggle(open = !this.open) {
    document.documentElement.dataset.side = open ? "open" : "closed";
    keep("side", open ? "open" : "closed");
  }

  search() {
    this.toggle(true);
    this.input.focus();
    this.input.select();
  }
}

const wordsOf = (text) => text.toLowerCase().replaceAll("-", " ").split(/\s+/).filter(Boolean);
