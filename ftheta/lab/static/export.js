/** The export menu: files of figure and data, and the lines that compute the same elsewhere. */
import { Refused, exported, sentence } from "./api.js";
import { copy } from "./copy.js";
import { el } from "./dom.js";
import { t } from "./language.js";
import { toast } from "./toast.js";

const FILES = [
  ["pdf", t("Figure, PDF")],
  ["svg", t("Figure, SVG")],
  ["png", t("Figure, PNG")],
  ["csv", t("Data of the figure, CSV")],
  ["json", t("Result, JSON")],
  ["html", t("Report, HTML")],
];
const LINES = [
  ["py", t("Copy Python")],
  ["sh", t("Copy command line")],
];

export class ExportMenu {
  /** @param {() => any} state @param {() => {snippet: string, command: string} | null} result */
  constructor(state, result) {
    this.state = state;
    this.result = result;
    const file = ([format, text]) => this.item(text, `.${format}`, () => this.save(format));
    const line = ([format, text]) => this.item(text, `.${format}`, () => this.copyLine(format));
    this.node = el(
      "div",
      {
        class: "menu",
        role: "menu",
        "aria-label": t("Export"),
        hidden: true,
        on: { keydown: (event) => this.key(event) },
      },
      ...FILES.map(file),
      el("hr"),
      ...LINES.map(line),
    );
    document.body.append(this.node);
    document.addEventListener("pointerdown", (event) => {
      if (!this.node.hidden && !this.node.contains(event.target) && !this.opener.contains(event.target)) this.close();
    });
  }

  item(text, ending, act) {
    const run = () => {
      this.close(true);
      act();
    };
    return el(
      "button",
      { type: "button", role: "menuitem", tabindex: "-1", on: { click: run } },
      el("span", { text }),
      el("kbd", { text: ending }),
    );
  }

  toggle(opener) {
    this.opener = opener;
    if (this.node.hidden) this.open();
    else this.close(true);
  }

  open() {
    const place = this.opener.getBoundingClientRect();
    this.node.style.top = `${place.bottom + 6}px`;
    this.node.style.right = `${Math.max(8, innerWidth - place.right)}px`;
    this.node.hidden = false;
    this.opener.setAttribute("aria-expanded", "true");
    this.items[0].focus();
  }

  close(back = false) {
    if (this.node.hidden) return;
    this.node.hidden = true;
    this.opener.setAttribute("aria-expanded", "false");
    if (back) this.opener.focus();
  }

  get items() {
    return [...this.node.querySelectorAll("button")];
  }

  key(event) {
    const here = this.items.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: -1 }[event.key];
    if (to !== undefined) this.items.at(to % this.items.length).focus();
    else if (event.key === "Escape" || event.key === "Tab") this.close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  async save(format) {
    try {
      const { blob, name } = await exported(format, this.state());
      const link = el("a", { href: URL.createObjectURL(blob), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      toast(sentence(error.said), "error");
    }
  }

  async copyLine(format) {
    const result = this.result();
    if (!result) return toast(t("There is no result to export yet."), "error");
    if (format === "py") await copy(result.snippet, "Python");
    else await copy(result.command, t("Command line"));
  }
}
