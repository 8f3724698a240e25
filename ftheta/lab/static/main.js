/** The lab: catalogue and theorem pages over one line to the server. */
import { Refused, catalogue as loadCatalogue, sentence } from "./api.js";
import { byId, el } from "./dom.js";
import { t } from "./language.js";
import { Lab } from "./lab.js";
import { restoreTheme } from "./theme.js";

restoreTheme();
document.querySelector(".skip").textContent = t("Skip to the content");
byId("side").setAttribute("aria-label", t("Theorems"));
byId("controls").setAttribute("aria-label", t("Controls"));
try {
  const catalogue = await loadCatalogue();
  document.documentElement.toggleAttribute("data-classroom", catalogue.classroom);
  new Lab(catalogue).start();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  byId("centre").replaceChildren(el("p", { class: "nothing", role: "alert", text: sentence(error.said) }));
}
