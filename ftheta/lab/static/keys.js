/** The keys of the page, and the dialog that lists them. */
import { el } from "./dom.js";
import { t } from "./language.js";

export const KEYS = [
  ["/", t("search the theorems")],
  ["← →", t("previous and next theorem")],
  ["space", t("play or pause the slider in focus, the chart if it moves, or the first slider")],
  ["P", t("projector: larger letters, no list")],
  ["T", t("show or hide the statement")],
  ["C", t("show or hide the controls")],
  ["D", t("dark or light")],
  ["S", t("copy the link with everything as it is")],
  ["E", t("export figure, data, code")],
  ["R", t("reset to the textbook values")],
  ["?", t("this help")],
];

/** Where letters and arrows belong to the control itself. */
const typing = (node) =>
  node.closest("input:not([type=range]):not([type=radio]):not([type=checkbox]), textarea, select, [role=menu]");
const moving = (node) => node.closest("input, select, [role=tablist], [role=menu], .scroll");
const pressing = (node) => node.closest("button, a, summary, input:not([type=range])");

/** @param {Record<string, (event: KeyboardEvent) => void>} actions by key */
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const busy = key.startsWith("Arrow")
      ? moving(target)
      : key === " "
        ? pressing(target) || typing(target)
        : typing(target);
    const act = actions[key];
    if (!act || busy) return;
    event.preventDefault();
    act(event);
  });
}

/** The help dialog: keys, and what the verdict words mean. */
export function helpDialog(verdicts) {
  const keys = KEYS.map(([key, says]) => el("li", {}, el("kbd", { text: key }), el("span", { text: says })));
  const words = Object.values(verdicts).map((look) =>
    el(
      "li",
      {},
      el("span", { class: `pill ${look.family}`, text: `${look.sign} ${look.word}` }),
      el("span", { text: look.means }),
    ),
  );
  const close = el("button", { type: "button", class: "action", text: t("Close"), on: { click: () => dialog.close() } });
  const dialog = el(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title", text: t("Keys") }),
    el("ul", { class: "keys" }, ...keys),
    el("h2", { text: t("Verdicts") }),
    el("ul", { class: "meanings" }, ...words),
    close,
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  return dialog;
}
