/** What the theorem is asked about: the built-in subject, the one that breaks it, or a file of one's own. */
import { Refused, sentence, subjects, upload } from "./api.js";
import { el, write } from "./dom.js";
import { t } from "./language.js";
import { BREAKER, BUILT_IN } from "./state.js";
import { toast } from "./toast.js";

export const KINDS = ".onnx,.gz,.npz,.npy,.csv,.parquet,.txt,.pt2,.safetensors";

export class Subjects {
  /** @param {(id: string) => void} choose */
  constructor(choose) {
    this.choose = choose;
    this.known = [];
    this.listed = false; // whether the server has told which there are
    /** @type {((subject: any) => void) | null} who takes a file that was read, if no theorem does */
    this.taker = null;
    /** @type {((known: any[]) => void) | null} who wants to know which subjects there are */
    this.onList = null;
    this.menu = el("select", { id: "subject", "aria-label": t("Subject"), on: { change: () => choose(this.menu.value) } });
    this.file = el("input", {
      type: "file",
      class: "hidden-visually",
      tabindex: "-1",
      accept: KINDS,
      "aria-label": t("Open a file as subject"),
      on: { change: () => this.opened() },
    });
    const open = el("button", {
      type: "button",
      class: "file",
      text: t("Open a file…"),
      on: { click: () => this.file.click() },
    });
    this.facts = el("p", { class: "says" });
    this.complaint = el("p", { class: "complaint", role: "alert", hidden: true });
    this.node = el(
      "section",
      { class: "block", "aria-label": t("Subject") },
      el("h2", { text: t("Subject") }),
      el("div", { class: "row" }, this.menu, open),
      this.file,
      this.facts,
      this.complaint,
    );
    dropping((files) => (this.taker ? files : files.slice(0, 1)).forEach((file) => this.give(file)));
  }

  /** Ask the server which subjects there are. */
  async refresh() {
    this.known = (await subjects()).filter((s) => s.id !== BUILT_IN && s.id !== BREAKER);
    this.listed = true;
    this.onList?.(this.known);
    if (this.theorem) this.show(this.theorem, this.current);
  }

  /** Offer the subjects that suit a theorem; the others are listed, but cannot be chosen. */
  show(theorem, current) {
    this.theorem = theorem;
    this.current = current;
    const options = [
      option(BUILT_IN, t("built-in")),
      theorem.breakable && option(BREAKER, t("broken on purpose")),
      ...this.known.map((s) => option(s.id, s.name, !fits(s, theorem))),
    ];
    const missing = ![BUILT_IN, BREAKER].includes(current) && !this.known.some((s) => s.id === current);
    if (missing) options.push(option(current, this.listed ? t("{name} (not here)", { name: current }) : `${current} …`));
    this.menu.replaceChildren(...options.filter(Boolean));
    this.menu.value = current;
    this.describe(current);
  }

  describe(current) {
    const subject = this.known.find((s) => s.id === current);
    const words = subject
      ? subject.facts
          .slice(0, 4)
          .map((fact) => fact.join(" "))
          .join(" · ")
      : `${t("Requires {kinds}.", { kinds: wanted(this.theorem) })}${closed() ? "" : ` ${t("Drop a file anywhere on this page.")}`}`;
    write(this.facts, words);
  }

  opened() {
    const [file] = this.file.files;
    this.file.value = "";
    if (file) this.give(file);
  }

  /** Give the server a file and choose what it read. */
  async give(file) {
    this.complain("");
    this.node.classList.add("loading");
    try {
      const subject = await upload(file);
      this.known = [...this.known.filter((s) => s.id !== subject.id), subject];
      if (this.taker) this.taker(subject);
      else if (!this.theorem) toast(t("{name} is open; choose it as the subject of a theorem.", { name: subject.name }));
      else if (fits(subject, this.theorem)) this.choose(subject.id);
      else this.unsuited(subject);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.complain(sentence(error.said));
    } finally {
      this.node.classList.remove("loading");
    }
  }

  unsuited(subject) {
    this.show(this.theorem, this.current);
    this.complain(t("{name} is {kind}; this theorem requires {kinds}.", { name: subject.name, kind: NAMES[subject.kind] || subject.kind, kinds: wanted(this.theorem) }));
  }

  complain(text) {
    write(this.complaint, text);
    this.complaint.hidden = !text;
    if (text && !this.node.isConnected) toast(text, "error");
  }
}

const NAMES = {
  Network: t("a network"),
  Target: t("a function"),
  Dataset: t("data"),
  Training: t("a training run"),
  Measure: t("a distribution"),
  Family: t("a family of networks"),
};

/** What a theorem can be asked about, in words. */
const wanted = (theorem) => theorem.takes.map((kind) => NAMES[kind] || kind).join(` ${t("or")} `);

const option = (value, text, off = false) => el("option", { value, text, disabled: off });

/** Whether a theorem can be asked about a subject. */
export function fits(subject, theorem) {
  const kinds = (subject.takes || [subject.kind]).map((kind) => kind.toLowerCase());
  return theorem.takes.some((kind) => kinds.includes(kind.toLowerCase()));
}

/** Whether this is a lab for a class, which takes no files. */
const closed = () => document.documentElement.hasAttribute("data-classroom");

/** Files dropped anywhere on the page. */
function dropping(give) {
  const veil = el("div", { class: "veil", hidden: true }, el("p", { text: t("Drop the file here") }));
  document.body.append(veil);
  const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  let depth = 0;
  const enter = (event) => carries(event) && (veil.hidden = ++depth < 1);
  const leave = (event) => carries(event) && (veil.hidden = --depth < 1);
  addEventListener("dragenter", enter);
  addEventListener("dragleave", leave);
  addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    give([...event.dataTransfer.files]);
  });
}
