/** The lab: catalogue and theorem pages over one line to the server. */
import { Refused, catalogue as loadCatalogue, sentence } from "./api.js";
import { el, byId } from "./dom.js";
import { Lab } from "./lab.js";
import { restoreTheme } from "./theme.js";

restoreTheme();
try {
  const catalogue = await loadCatalogue();
  document.documentElement.toggleAttribute("data-classroom", catalogue.classroom);
  new Lab(catalogue).start();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  byId("centre").replaceChildren(el("p", { class: "nothing", role: "alert", text: sentence(error.said) }));
}
