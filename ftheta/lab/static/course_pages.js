/** What courses look like: the list of them, one course, the outline at the left, and the strip above a theorem. */
import { byId, el, withHtml, write } from "./dom.js";
import { placesIn } from "./courses.js";
import { t, tn } from "./language.js";

const LIST = "#/courses";
export const courseHash = (name) => `${LIST}/${encodeURIComponent(name)}`;

/** All courses as cards. @param {import("./courses.js").Courses} courses */
export function coursesPage(courses) {
  const cards = courses.all.map((course) => {
    const { seen, pages } = progressOf(courses, course);
    return el(
      "article",
      { class: "card course-card" },
      el("h2", {}, el("a", { href: courseHash(course.name), text: course.title })),
      el("p", { class: "gist", text: course.by }),
      bar(seen, pages),
      el("div", { class: "foot" }, el("span", { class: "eyebrow", text: `${tn("{n} section", "{n} sections", course.sections.length)} · ${seenOf(seen, pages)}` })),
    );
  });
  const lead = t("Lecture courses as a way through the theorems, in the order of their slides.");
  const hero = el("div", { class: "hero" }, el("h1", { text: t("Courses") }), el("p", { class: "lead", text: lead }));
  return el("div", { class: "catalogue" }, hero, el("div", { class: "grid" }, ...cards));
}

/** One course: its outline with quotations and exercises. */
export function coursePage(courses, course) {
  const { seen, pages } = progressOf(courses, course);
  const places = placesIn(course);
  const done = courses.seenOf(course);
  const next = (places.find(({ page }) => !done.has(page.theorem)) || places[0]).page;
  const begin = el("a", { class: "action begin", href: courses.hashOf(next), text: seen ? t("Go on") : t("Begin") });
  const sections = course.sections.map((section, s) =>
    el(
      "section",
      { class: "panel course-section" },
      el("h2", { text: `${s + 1}. ${section.title}` }),
      section.quote && el("blockquote", { text: t("“{words}”", { words: section.quote }) }),
      el("ol", {}, ...section.pages.map((page) => el("li", {}, link(courses, page, done)))),
      exercise(courses, section),
    ),
  );
  const hero = el(
    "div",
    { class: "hero" },
    el("a", { href: LIST, class: "eyebrow", text: t("Courses") }),
    el("h1", { text: course.title }),
    el("p", { class: "lead", text: course.by }),
    bar(seen, pages),
    el("p", { class: "row" }, begin, el("span", { class: "faint", text: seenOf(seen, pages) })),
  );
  return el("div", { class: "catalogue course" }, hero, ...sections);
}

/** The outline of the course that is followed, in the list at the left. */
export class Outline {
  /** @param {import("./courses.js").Courses} courses @param {() => void} leave */
  constructor(courses, leave) {
    this.courses = courses;
    this.links = new Map();
    const out = el("button", { type: "button", class: "action leave", text: t("Leave the course"), on: { click: leave } });
    this.title = el("a", { class: "course-title" });
    this.count = el("p", { class: "faint" });
    this.list = el("div");
    this.node = el("section", { class: "outline", "aria-label": t("Outline of the course") }, this.title, this.count, this.list, out);
    byId("side").querySelector(".chapter").before(this.node);
    this.draw();
  }

  /** Show the course that is followed, with what was seen of it and links that lead to its states. */
  draw() {
    const course = this.courses.followed;
    this.node.hidden = !course;
    if (course) document.documentElement.dataset.course = "on";
    else delete document.documentElement.dataset.course;
    if (!course) return;
    const { seen, pages } = progressOf(this.courses, course);
    const done = this.courses.seenOf(course);
    this.title.href = courseHash(course.name);
    write(this.title, course.title);
    write(this.count, seenOf(seen, pages));
    this.links.clear();
    this.list.replaceChildren(...course.sections.map((section, s) => this.section(section, s, done)));
  }

  section(section, s, done) {
    const items = section.pages.map((page) => {
      const node = link(this.courses, page, done);
      this.links.set(page.theorem, node);
      return el("li", {}, node);
    });
    return el("section", { class: "part" }, el("h2", { text: `${s + 1}. ${section.title}` }), el("ul", {}, ...items));
  }

  mark(theorem) {
    for (const [id, node] of this.links)
      if (id === theorem) node.setAttribute("aria-current", "page");
      else node.removeAttribute("aria-current");
    this.links.get(theorem)?.scrollIntoView({ block: "nearest" });
  }
}

/** Above a theorem: where it stands in the course, what the slide says, what to look at, and the exercise of the section. */
export class Strip {
  /** @param {import("./courses.js").Courses} courses */
  constructor(courses) {
    this.courses = courses;
    this.node = el("section", { class: "panel course-strip", "aria-label": t("Course"), hidden: true });
  }

  show(theorem) {
    const place = this.courses.placeOf(theorem);
    this.node.hidden = !place;
    if (!place) return;
    const { course, section, page, number, last, at, places } = place;
    const step = (by, text) => {
      const next = places[at + by];
      return next && el("a", { class: "action", rel: by < 0 ? "prev" : "next", href: this.courses.hashOf(next.page), text });
    };
    const where = el(
      "div",
      { class: "where" },
      el("a", { href: courseHash(course.name), text: course.title }),
      el("span", { class: "faint", text: ` › ${number}. ${section.title} · ${t("page {k} of {n}", { k: at + 1, n: places.length })}` }),
      el("span", { class: "steps" }, step(-1, t("← Previous")), step(1, t("Next →"))),
    );
    const quote = page.quote || (at && places[at - 1].section === section ? "" : section.quote);
    this.node.replaceChildren(
      ...[
        where,
        quote && el("blockquote", { text: t("“{words}”", { words: quote }) }),
        page.look && withHtml("p", page.look, { class: "look" }),
        last && exercise(this.courses, section),
      ].filter(Boolean),
    );
  }
}

function link(courses, page, done) {
  const seen = done.has(page.theorem);
  const mark = el("span", { class: "seen", text: seen ? "✓" : "", "aria-label": seen ? t("seen") : null });
  return el("a", { href: courses.hashOf(page) }, mark, page.title);
}

/** The question, and its answer folded, with a link that runs it. */
function exercise(courses, section) {
  const asked = section.exercise;
  if (!asked) return null;
  const run = el("a", { href: courses.hashOf(asked), text: t("Run it here") });
  return el(
    "div",
    { class: "exercise" },
    withHtml("p", `<b>${t("Exercise.")}</b> ${asked.ask}`),
    el(
      "details",
      {},
      el("summary", { text: t("Answer") }),
      withHtml("p", asked.answer),
      el("p", {}, run, ` ${t("or in the terminal:")} `, el("code", { text: asked.command })),
    ),
  );
}

const seenOf = (seen, pages) => t("{seen} of {pages} pages seen", { seen, pages });

function progressOf(courses, course) {
  const pages = placesIn(course);
  const seen = courses.seenOf(course);
  return { pages: pages.length, seen: pages.filter(({ page }) => seen.has(page.theorem)).length };
}

const bar = (seen, pages) => el("progress", { class: "course-progress", value: seen, max: pages, "aria-label": t("pages seen") });
