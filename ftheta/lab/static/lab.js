/** Everything put together: the state, who shows it, and who changes it. */
import { forgotten, sentence } from "./api.js";
import { AuditPage } from "./audit.js";
import { Cards } from "./catalogue.js";
import { warmUp } from "./chart.js";
import { copy } from "./copy.js";
import { Outline, Strip, coursePage, coursesPage } from "./course_pages.js";
import { Courses } from "./courses.js";
import { byId, el, narrow } from "./dom.js";
import { ExportMenu } from "./export.js";
import { header } from "./header.js";
import { helpDialog, listen } from "./keys.js";
import { language, t } from "./language.js";
import { Panel } from "./panel.js";
import * as play from "./play.js";
import { Router } from "./router.js";
import { Runner } from "./runner.js";
import { Side } from "./side.js";
import { Line } from "./socket.js";
import { BREAKER, BROKEN, fresh, toHash, withKnob } from "./state.js";
import { Subjects } from "./subjects.js";
import { TheoremPage } from "./theorem.js";
import { dark, onTheme, toggleDark, togglePanel, toggleProjector, toggleStatement } from "./theme.js";
import { banner, toast } from "./toast.js";

export class Lab {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.theorems = new Map(catalogue.theorems.map((t) => [t.id, t]));
    /** @type {import("./state.js").State | null} */
    this.state = null;
    this.painting = false;
    this.cards = new Cards(catalogue);
    this.side = new Side(catalogue, (found, words) => this.cards.filter(found, words));
    this.help = helpDialog(catalogue.verdicts);
    this.menu = new ExportMenu(
      () => this.asked(),
      () => this.page.result,
    );
    this.top = header({
      link: () => this.copyLink(),
      exporting: (button) => this.menu.toggle(button),
      help: () => this.help.showModal(),
      side: () => this.side.toggle(),
    });
    this.subjects = new Subjects((id) => this.choose(id));
    this.courses = new Courses(this.theorems, () => this.subjects.known);
    this.outline = new Outline(this.courses, () => this.leaveCourse());
    this.audit = new AuditPage((frame) => this.line.send(frame), {
      give: (file) => this.subjects.give(file),
      chosen: (choice) => this.router.follow({ audit: choice }, true),
    });
    this.subjects.onList = (known) => this.audit.offer(known);
    this.page = new TheoremPage(catalogue, {
      force: () => this.go({ ...this.state, force: !this.state.force }),
      cancel: () => this.runner.cancel(),
      tab: (index) => this.tab(index),
      drag: (values) => this.drag(values),
      resized: () => this.later(),
    });
    this.panel = new Panel(
      {
        preset: (name) =>
          this.go({
            ...fresh(this.state.theorem),
            seed: this.state.seed,
            preset: name === this.firstPreset ? null : name,
            force: name === BROKEN, // to be seen broken, it has to be measured
          }),
        breaker: () => this.go({ ...fresh(this.state.theorem), seed: this.state.seed, subject: BREAKER, force: true }),
        knob: (name, value) => this.slide(withKnob(this.theorem, this.state, name, value)),
        seed: (seed) => this.slide({ ...this.state, seed }),
        reset: () => this.go(fresh(this.state.theorem)),
        ready: () => !this.runner.running && !this.painting,
      },
      this.subjects,
    );
    this.runner = new Runner((frame) => this.line.send(frame), {
      busy: (run) => this.page.progress.show(run),
      result: (frame, run) => this.result(frame, run),
      error: (frame, run) => this.error(frame, run),
      cancelled: (run) => this.cancelled(run),
    });
    this.strip = new Strip(this.courses);
    this.page.node.prepend(this.strip.node);
    this.router = new Router(this.theorems, (state) => this.show(state));
  }

  get theorem() {
    return this.theorems.get(this.state.theorem);
  }

  /** The first preset is the textbook one: no name in the link. */
  get firstPreset() {
    const [first] = this.theorem.presets;
    return first && !Object.keys(first.knobs).length ? first.name : null;
  }

  start() {
    this.line = new Line({
      message: (frame, bytes) => this.message(frame, bytes),
      open: () => this.opened(),
      lost: (pause) => this.lost(pause),
    });
    onTheme(() => this.state && (this.page.measure(), this.ask()));
    onTheme(() => this.audit.theme());
    this.keys();
    this.subjects.refresh().catch(() => {}); // the built-in subjects do not need the list
    this.courses.ready().then(() => this.courseChanged()).catch(() => {}); // the theorems do not need them
    this.router.start();
    requestIdleCallback(() => warmUp());
  }

  keys() {
    const onPage = (act) => () => this.state && act();
    listen({
      "/": () => this.side.search(),
      ArrowLeft: onPage(() => this.neighbour(-1)),
      ArrowRight: () => this.neighbour(1),
      " ": onPage(() => this.panel.playSome(this.page.stage.motion)),
      p: toggleProjector,
      d: toggleDark,
      t: onPage(toggleStatement),
      c: onPage(togglePanel),
      s: onPage(() => this.copyLink()),
      e: onPage(() => this.menu.toggle(this.top.save)),
      r: onPage(() => this.go(fresh(this.state.theorem))),
      "?": () => this.help.showModal(),
    });
  }

  // -- where we are ------------------------------------------------------------------------------

  /** Show a state that came from the address bar; null is the catalogue. */
  show(state) {
    play.stop();
    const choice = state?.audit;
    const other = choice || state?.courses;
    const same = this.state && state && !other && this.state.theorem === state.theorem;
    this.state = other ? null : state;
    document.documentElement.dataset.page = choice ? "audit" : this.state ? "theorem" : "catalogue";
    byId("controls").hidden = !this.state;
    this.subjects.taker = choice ? (subject) => this.audit.taken(subject, this.subjects.known) : null;
    if (choice) return this.showAudit(choice);
    if (state?.courses) return this.showCourses(state.courses.name);
    if (!state) return this.showCatalogue();
    this.cards.hide();
    if (!same) this.build();
    this.panel.clearComplaints();
    this.panel.show(state);
    this.ask({ now: true });
  }

  /** What was found stays while one looks at other pages. */
  showAudit(choice) {
    this.page.leave();
    this.runner.cancel();
    this.cards.hide();
    this.side.mark("audit");
    this.top.place("", false);
    document.title = `${t("Audit")} – ${t("fθ lab")}`;
    this.audit.choose(choice);
    byId("centre").replaceChildren(this.audit.node);
    byId("centre").scrollTop = 0;
  }

  // -- courses -----------------------------------------------------------------------------------

  /** The list of courses, or one of them, which is followed from now on. */
  async showCourses(name) {
    this.page.leave();
    this.runner.cancel();
    this.cards.hide();
    this.side.mark("courses");
    this.top.place("", false);
    const here = location.hash;
    await this.courses.ready();
    if (location.hash !== here) return;
    const course = this.courses.named(name);
    if (course) this.courses.follow(course.name);
    this.courseChanged();
    document.title = `${course ? course.title : t("Courses")} – ${t("fθ lab")}`;
    byId("centre").replaceChildren(course ? coursePage(this.courses, course) : coursesPage(this.courses));
    byId("centre").scrollTop = 0;
  }

  leaveCourse() {
    this.courses.follow(null);
    this.courseChanged();
    if (location.hash.startsWith("#/courses/")) location.hash = "#/courses";
  }

  /** Another course, subject or page: outline and strip follow. */
  courseChanged() {
    this.outline.draw();
    this.strip.show(this.state?.theorem);
    this.outline.mark(this.state?.theorem);
  }

  /** A subject was chosen; in a course it stays for the pages that follow. */
  choose(id) {
    this.courses.use(id);
    this.go({ ...this.state, subject: id, force: false });
    this.courseChanged();
  }

  // -- the catalogue and its theorems ------------------------------------------------------------

  showCatalogue() {
    this.page.leave();
    this.runner.cancel();
    this.cards.show();
    this.side.mark(null);
    this.top.place("", false);
    document.title = t("fθ lab");
  }

  build() {
    const theorem = this.theorem;
    this.top.place(`${theorem.chapter_title} · ${theorem.id}`, true);
    this.top.clearPace();
    document.title = `${theorem.title} – ${t("fθ lab")}`;
    this.side.mark(theorem.id);
    this.panel.build(theorem);
    this.strip.show(theorem.id);
    this.outline.mark(theorem.id);
    this.courses.forget();
    this.page.build(theorem);
  }

  neighbour(step) {
    const next = this.state && this.courses.neighbour(this.state.theorem, step);
    if (next) return void (location.hash = this.courses.hashOf(next));
    if (this.state && this.courses.placeOf(this.state.theorem)) return; // at an end of the course
    const all = this.catalogue.theorems;
    const here = this.state ? all.findIndex((t) => t.id === this.state.theorem) : -1;
    location.hash = `#/${all[(here + step + all.length) % all.length].id}`;
  }

  /** A choice: a step in the history of the page. */
  go(state) {
    this.router.push(state);
    this.show(state);
  }

  /** A slider: the address follows, the history does not grow. */
  slide(state) {
    this.state = state;
    this.router.follow(state);
    this.panel.presetState(state);
    if (narrow()) this.page.chart.scrollIntoView({ block: "nearest" }); // chart and slider are seen together
    this.ask();
  }

  /** A point of the chart, dragged: each of its coordinates is a knob, kept within the ends of its slider. */
  drag(values) {
    const state = Object.entries(values).reduce((found, [name, value]) => {
      const knob = this.theorem.knobs.find((k) => k.name === name);
      if (!knob) return found;
      const inside = Math.min(knob.knob.hi, Math.max(knob.knob.lo, value));
      return withKnob(this.theorem, found, name, Number(inside.toPrecision(4)));
    }, this.state);
    this.panel.show(state);
    this.slide(state);
  }

  tab(index) {
    this.state = { ...this.state, chart: index };
    this.router.follow(this.state);
    const { charts } = this.page.result;
    this.page.showTabs(charts, index);
    if (!charts[index].spec) return this.ask({ now: true }); // the server draws the chart in front alone
    byId("centre").dataset.shown = toHash(this.state);
    this.page.paint(index);
  }

  copyLink() {
    this.router.follow(this.state, true);
    copy(location.href, t("Link"));
  }

  // -- asking and answering ----------------------------------------------------------------------

  /** The state as the server wants it. */
  asked() {
    return { ...this.state, dark: dark(), lang: language };
  }

  ask(options) {
    byId("centre").dataset.phase = "computing";
    this.runner.ask(this.asked(), this.page.size, options);
  }

  /** Ask again when the window has found its size. */
  later() {
    clearTimeout(this.resize);
    this.resize = setTimeout(() => this.state && this.ask(), 150);
  }

  message(frame, bytes) {
    if (frame.type === "notice") toast(frame.text);
    else if (frame.type.startsWith("audit-")) this.audit.receive(frame);
    else this.runner.receive(frame, bytes);
  }

  async result(frame, run) {
    if (!this.state || run.state.theorem !== this.state.theorem) return;
    this.panel.clearComplaints();
    this.panel.result(frame.html);
    this.painting = true;
    const painted = await this.page
      .show(frame, { ...run.state, chart: this.state.chart })
      .finally(() => (this.painting = false));
    if (!painted) return;
    this.settled("shown", run);
    if (this.courses.see(this.state.theorem)) this.courseChanged();
    const front = this.courses.front(this.state, frame.charts);
    if (front !== null) this.tab(front);
    requestAnimationFrame(() => this.measured(frame, run));
  }

  /** After the frame that shows the chart: how long it took. */
  measured(frame, run) {
    const whole = performance.now() - run.asked;
    this.top.pace(whole, 1000 * frame.seconds);
    document.dispatchEvent(
      new CustomEvent("painted", { detail: { n: run.n, whole, seconds: frame.seconds, bytes: run.bytes } }),
    );
  }

  error(frame, run) {
    if (!this.state || run.state.theorem !== this.state.theorem) return;
    const words = sentence(frame.error);
    play.stop();
    this.panel.complain(frame.knob, words);
    this.page.bar.trouble(words);
    this.settled("trouble", run);
  }

  cancelled(run) {
    play.stop();
    this.page.bar.trouble(t("Cancelled."));
    this.settled("cancelled", run);
  }

  /** Say on the page which state it shows, and whether that was computed. */
  settled(phase, run) {
    const chart = this.state.chart;
    Object.assign(byId("centre").dataset, {
      phase: this.runner.running ? "computing" : phase,
      shown: toHash({ ...run.state, chart }),
    });
  }

  // -- the line ----------------------------------------------------------------------------------

  opened() {
    if (this.wasLost) toast(t("Connected again."));
    this.wasLost = false;
    banner("");
    this.runner.next();
  }

  async lost(pause) {
    this.wasLost = true;
    this.runner.lost();
    this.audit.lost();
    if (await forgotten()) return banner(t("The lab was started again. Please open the address that it printed."));
    if (this.line.up) return;
    const again = el("button", { type: "button", text: t("Try now"), on: { click: () => this.line.now() } });
    banner(pause > 2 ? t("No connection to the lab's server. Trying again in {s} s…", { s: pause }) : t("No connection to the lab's server. Trying again…"), again);
  }
}
