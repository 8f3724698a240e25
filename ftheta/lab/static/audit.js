/** The audit page: choose a network and data, watch the answers arrive, then ask about an ε, a row, a plane. */
import { sentence } from "./api.js";
import { Explore } from "./audit_parts.js";
import { findingsList, SectionView, tiles } from "./audit_view.js";
import { byId, el, write } from "./dom.js";
import { t } from "./language.js";
import { KINDS } from "./subjects.js";
import { dark } from "./theme.js";
import { speak, toast } from "./toast.js";

const BUDGETS = [10, 30, 60, 300];
const FIRST = { model: "digits-mlp", data: "digits-test" }; // until something else is chosen
const WIDEST = 560; // pixels of a chart
const MARGIN = 78; // of a panel around it

export class AuditPage {
  /** @param {(frame: any) => boolean} send @param {{give: (file: File) => void, chosen: (state: any) => void}} hooks */
  constructor(send, hooks) {
    this.send = send;
    this.hooks = hooks;
    this.n = 0;
    this.known = [];
    this.phase = "idle";
    this.sections = new Map();
    this.model = menu("audit-model", () => this.changed());
    this.data = menu("audit-data", () => this.changed());
    this.train = menu("audit-train", () => this.changed());
    this.budget = menu("audit-budget", () => this.changed());
    this.budget.replaceChildren(...BUDGETS.map((s) => el("option", { value: s, text: s < 90 ? `${s} s` : `${s / 60} min` })));
    this.budget.value = "60";
    for (const select of [this.model, this.data, this.train]) {
      select.replaceChildren(el("option", { value: "", text: t("reading the list…") }));
    }
    this.file = el("input", {
      type: "file",
      class: "hidden-visually",
      tabindex: "-1",
      multiple: true,
      accept: KINDS,
      "aria-label": t("Open files for the audit"),
      on: { change: () => this.opened() },
    });
    this.runButton = el("button", { type: "submit", class: "primary", text: t("Run the audit") });
    this.stopButton = button(t("Stop and keep what is done"), () => this.stop(), { hidden: true });
    this.bar = el("progress", { max: "1", "aria-label": t("How far the audit is") });
    this.words = el("span", { class: "elapsed" });
    this.progress = el("div", { class: "audit-progress", hidden: true }, this.bar, this.words);
    this.complaint = el("p", { class: "complaint", role: "alert", hidden: true });
    this.status = el("p", { class: "audit-status", hidden: true });
    this.figures = el("ul", { class: "tiles" });
    this.findings = el("section", { class: "panel", "aria-label": t("Findings"), hidden: true });
    this.answers = el("div", { class: "audit-sections" });
    this.left = el("p", { class: "faint", hidden: true });
    this.explore = new Explore((part, rows) => this.ask(part, rows));
    this.html = button(t("Report as HTML"), () => this.ask("html"));
    this.json = button(t("as JSON"), () => this.ask("json"));
    this.files = el("div", { class: "row", hidden: true }, this.html, this.json);
    this.node = el(
      "div",
      { class: "audit" },
      this.form(),
      this.figures,
      this.findings,
      this.explore.node,
      this.answers,
      this.left,
    );
  }

  form() {
    const field = (text, control) => el("label", { class: "audit-field" }, el("span", { text }), control);
    const open = button(t("Open files…"), () => this.file.click(), { class: "file" });
    const fields = el(
      "div",
      { class: "fields" },
      field(t("Network"), this.model),
      field(t("Data"), this.data),
      field(t("Trained on"), this.train),
      field(t("Budget"), this.budget),
    );
    const actions = el("div", { class: "row" }, this.runButton, this.stopButton, open, this.file);
    const submit = (event) => (event.preventDefault(), this.run());
    return el(
      "form",
      { class: "panel", "aria-label": t("What to audit"), on: { submit } },
      el("h1", { text: t("Audit a network") }),
      el("p", {
        class: "audit-lead",
        text: t("How good is it, and how sure? Are the data fit? How robust is it? Drop a network and its data anywhere on this page, or choose them."),
      }),
      fields,
      actions,
      this.complaint,
      this.progress,
      this.status,
      this.files,
    );
  }

  // -- what is chosen ----------------------------------------------------------------------------

  /** Offer the subjects that there are. */
  offer(known) {
    this.known = known;
    const now = this.listed ? this.choice : {};
    this.listed = true;
    const networks = known.filter((s) => s.kind === "Network");
    const data = known.filter((s) => s.kind === "Dataset");
    fill(this.model, networks, null);
    fill(this.data, data, t("none"));
    fill(this.train, data, t("not given"));
    this.choose({ ...FIRST, ...now, ...this.wanted });
  }

  /** @param {{model?: string, data?: string, train?: string, budget?: string}} choice */
  choose(choice) {
    this.wanted = choice;
    pick(this.model, choice.model);
    pick(this.data, choice.data);
    pick(this.train, choice.train);
    pick(this.budget, choice.budget);
  }

  get choice() {
    const { model, data, train, budget } = this;
    return { model: model.value, data: data.value, train: train.value, budget: budget.value };
  }

  changed() {
    this.wanted = this.choice;
    this.hooks.chosen(this.choice);
  }

  opened() {
    [...this.file.files].forEach((file) => this.hooks.give(file));
    this.file.value = "";
  }

  /** A file was read: it takes the place that it fits. */
  taken(subject, known) {
    if (!["Network", "Dataset"].includes(subject.kind)) {
      return this.complain(t("{name} is a {kind}; an audit takes networks and data.", { name: subject.name, kind: subject.kind.toLowerCase() }));
    }
    this.complain("");
    const place = subject.kind === "Network" ? "model" : this.fresh === "data" ? "train" : "data";
    this.fresh = place;
    this.wanted = { ...this.choice, [place]: subject.id };
    this.offer(known);
    this.changed();
  }

  complain(text) {
    write(this.complaint, text);
    this.complaint.hidden = !text;
  }

  // -- running -----------------------------------------------------------------------------------

  get width() {
    return Math.max(220, Math.min(WIDEST, byId("centre").clientWidth - MARGIN));
  }

  run() {
    const { model, data, train, budget } = this.choice;
    if (!model) return this.complain(t("Choose a network."));
    this.clear();
    const order = { model, data: data || null, train: train || null, budget: Number(budget) };
    const sent = this.send({ type: "audit", n: ++this.n, ...order, dark: dark(), width: this.width });
    if (!sent) return this.complain(t("There is no connection to the lab's server."));
    this.show("running");
    this.drawn = dark();
    write(this.words, t("reading the network and the data"));
    this.bar.removeAttribute("value");
  }

  clear() {
    this.complain("");
    this.sections.clear();
    this.answers.replaceChildren();
    this.findings.hidden = this.status.hidden = this.left.hidden = true;
    this.figures.replaceChildren();
    this.explore.hide();
  }

  stop() {
    this.send({ type: "audit-stop", n: this.n });
  }

  ask(part, rows = []) {
    this.send({ type: "audit-part", n: this.n, part, rows, dark: dark(), width: this.width });
  }

  /** @param {"idle" | "running" | "done" | "trouble"} phase */
  show(phase) {
    this.phase = this.node.dataset.phase = phase;
    const running = phase === "running";
    this.progress.hidden = this.stopButton.hidden = !running;
    this.runButton.disabled = running;
    this.files.hidden = phase !== "done";
  }

  /** Charts are drawn for a light or a dark page. */
  theme() {
    if (this.phase === "done" && this.drawn !== dark()) {
      this.drawn = dark();
      this.ask("look");
    }
  }

  lost() {
    if (this.phase !== "running" && this.phase !== "done") return;
    this.show(this.phase === "done" ? "idle" : "trouble");
    this.explore.hide();
    if (this.phase === "trouble") this.complain(t("The connection was lost, and with it the audit. Run it again."));
  }

  // -- what the server says ----------------------------------------------------------------------

  receive(frame) {
    if (frame.n !== this.n) return;
    const act = {
      "audit-progress": () => this.progressed(frame),
      "audit-findings": () => this.found(frame.findings),
      "audit-section": () => this.section(frame),
      "audit-part": () => this.explore.show(frame),
      "audit-done": () => this.done(frame),
      "audit-file": () => download(frame),
      "audit-error": () => this.failed(frame),
    }[frame.type];
    if (act) act();
  }

  progressed({ share, left, done, tasks, now }) {
    if (left === null) return;
    this.bar.value = share;
    write(this.words, t("about {s} s left · {done} of {tasks}: {now}", { s: Math.max(1, Math.round(left)), done, tasks, now: now.join(", ") }));
  }

  found(findings) {
    this.findings.hidden = false;
    this.findings.replaceChildren(el("h2", { text: t("Findings") }), findingsList(findings));
  }

  section(frame) {
    if (!this.sections.has(frame.id)) {
      const view = new SectionView(frame.id);
      view.node.dataset.place = frame.place;
      const next = [...this.answers.children].find((other) => Number(other.dataset.place) > frame.place);
      this.answers.insertBefore(view.node, next || null);
      this.sections.set(frame.id, view);
    }
    this.sections.get(frame.id).show(frame);
  }

  done(frame) {
    this.show("done");
    this.status.hidden = false;
    const pill = el("span", { class: `pill ${frame.family}`, text: frame.status });
    const cut = frame.interrupted ? ` · ${t("stopped: this is what was done until then")}` : "";
    this.status.replaceChildren(pill, ` ${frame.counts} · ${frame.about} · ${frame.seconds} s${cut}`);
    this.figures.replaceChildren(...tiles(frame.figures));
    this.left.hidden = !frame.late.length;
    write(this.left, t("Not run within the budget: {n} of the checks. A longer budget gives them time.", { n: frame.late.length }));
    const data = this.known.find((s) => s.id === this.choice.data);
    const rows = data ? Number((data.facts.find(([name]) => name === "rows") || [])[1]?.replace(/\D/g, "")) : 0;
    this.explore.offer(frame.radii, rows);
    speak(`${t("The audit is done.")} ${frame.status}. ${frame.counts}`);
  }

  failed(frame) {
    const words = sentence(frame.error);
    if (this.phase !== "running") return this.explore.shown ? this.explore.complain(words) : toast(words, "error");
    this.show("trouble");
    this.complain(words);
  }
}

const button = (text, click, props = {}) => el("button", { type: "button", text, on: { click }, ...props });
const menu = (id, change) => el("select", { id, on: { change } });

function fill(select, subjects, none) {
  const options = subjects.map((s) => el("option", { value: s.id, text: s.name }));
  select.replaceChildren(...(none === null ? [] : [el("option", { value: "", text: none })]), ...options);
}

/** Choose an option, if there is such a one. */
function pick(select, value) {
  if (value !== undefined && [...select.options].some((option) => option.value === value)) select.value = value;
}

function download({ text, name, format }) {
  const kind = format === "html" ? "text/html" : "application/json";
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
