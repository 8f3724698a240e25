/** Notices that pass, and the banner that stays. */
import { byId, el, write } from "./dom.js";
import { t } from "./language.js";

const SHOWN = 5000;

/** Show a notice for a while; a click takes it away. @param {"note" | "error"} [kind] */
export function toast(text, kind = "note") {
  const close = el("button", { type: "button", "aria-label": t("Close"), text: "×", on: { click: () => node.remove() } });
  const node = el("div", { class: `toast ${kind}` }, el("span", { text }), close);
  byId("toasts").append(node);
  setTimeout(() => node.remove(), kind === "error" ? 2 * SHOWN : SHOWN);
}

/** The line above the page; an empty text takes it away. */
export function banner(text, button = null) {
  const node = byId("banner");
  node.hidden = !text;
  if (text) node.replaceChildren(el("span", { text }), button || "");
}

let told = 0;
let timer = 0;

/** Say something to those who listen: the newest words, at most every other second. */
export function speak(text) {
  clearTimeout(timer);
  const say = () => {
    told = performance.now();
    write(byId("spoken"), text);
  };
  timer = setTimeout(say, Math.max(400, 2000 - (performance.now() - told)));
}
