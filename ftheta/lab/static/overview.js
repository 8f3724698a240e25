/** Three ways in, as Peyré's slides sum the field up: wider, deeper, attention. */
import { el } from "./dom.js";
import { t } from "./language.js";

const WAYS = [
  [t("Going wider"), t("function approximation"), "two-layer-ridge-sum"],
  [t("Going deeper"), t("differential equations"), "flow-diffeomorphism"],
  [t("Attention"), t("interacting particles"), "attention-particle-flow"],
];

/** @param {Map<string, any>} titles of the theorems by id @param {(id: string, node: HTMLElement) => void} watch */
export function overview(titles, watch) {
  const tile = ([name, concept, id]) => {
    const picture = el("div", { class: "picture", "aria-hidden": "true" });
    watch(id, picture);
    const words = el("span", {}, el("b", { text: name }), ` ∼ ${concept}`);
    return el("a", { class: "way", href: `#/${id}`, title: titles.get(id) }, picture, words);
  };
  return el("div", { class: "ways" }, ...WAYS.filter(([, , id]) => titles.has(id)).map(tile));
}
