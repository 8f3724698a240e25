/**
 * Lecture courses: which one is followed, where a theorem stands in it, and what was seen of it. The choice, the progress
 * and the network of one's own are kept in this browser and are not part of a link.
 */
import { courses as load } from "./api.js";
import { BUILT_IN, fresh, toHash } from "./state.js";
import { fits } from "./subjects.js";
import { keep, kept } from "./theme.js";

export class Courses {
  /** @param {Map<string, any>} theorems @param {() => any[]} known  the subjects that can be had */
  constructor(theorems, known) {
    this.theorems = theorems;
    this.known = known;
    this.all = null;
    this.subject = BUILT_IN;
    this.chosen = null; // the theorem whose chart was put in front
  }

  /** Have the courses, if they were not had before. */
  async ready() {
    this.loading ??= load();
    this.all ??= await this.loading;
    return this.all;
  }

  /** The course that is followed; null without one. */
  get followed() {
    return (this.all && this.all.find((course) => course.name === kept("course"))) || null;
  }

  follow(name) {
    keep("course", name || "");
  }

  named(name) {
    return this.all.find((course) => course.name === name) || null;
  }

  /** Where a theorem stands in the course that is followed. */
  placeOf(theorem) {
    const course = this.followed;
    const places = course ? placesIn(course) : [];
    const at = places.findIndex(({ page }) => page.theorem === theorem);
    return at < 0 ? null : { course, places, at, ...places[at] };
  }

  /** The state in which a page, or the answer of an exercise, is shown; on one's own network where that suits it. */
  stateOf(page) {
    const theorem = this.theorems.get(page.theorem);
    const own = this.known().find((subject) => subject.id === this.subject);
    const subject = own && fits(own, theorem) ? own.id : BUILT_IN;
    const force = Boolean(page.force);
    return { ...fresh(page.theorem), preset: page.preset || null, knobs: { ...page.knobs }, subject, force };
  }

  hashOf(page) {
    return toHash(this.stateOf(page));
  }

  /** The page before or after a theorem in its course; null at the ends, or outside of a course. */
  neighbour(theorem, step) {
    const place = this.placeOf(theorem);
    const next = place && place.places[place.at + step];
    return next ? next.page : null;
  }

  /** Use this subject on every page from now on. */
  use(subject) {
    this.subject = subject;
  }

  // -- progress ----------------------------------------------------------------------------------

  seenOf(course) {
    try {
      return new Set(JSON.parse(kept(`course-${course.name}`) || "[]"));
    } catch {
      return new Set();
    }
  }

  /** A result of this theorem was shown. @returns {boolean} whether that is progress */
  see(theorem) {
    const place = this.placeOf(theorem);
    if (!place) return false;
    const seen = this.seenOf(place.course);
    if (seen.has(theorem)) return false;
    keep(`course-${place.course.name}`, JSON.stringify([...seen, theorem]));
    return true;
  }

  /** The chart that the page of a course wants in front, once per visit; null where it says nothing. */
  front(state, charts) {
    const place = this.placeOf(state.theorem);
    const key = toHash({ ...state, chart: 0 });
    if (!place || !place.page.chart || this.chosen === key || state.chart) return null;
    this.chosen = key;
    const index = charts.findIndex((chart) => chart.title === place.page.chart);
    return index > 0 ? index : null;
  }

  /** The visit is over: the next one begins with its own chart. */
  forget() {
    this.chosen = null;
  }
}

/** Every page with its section, in the order of the slides. */
export const placesIn = (course) =>
  course.sections.flatMap((section, s) =>
    section.pages.map((page, p) => ({ page, section, number: s + 1, last: p === section.pages.length - 1 })),
  );
