/** Text into the clipboard, also where the page is not served from this machine. */
import { el } from "./dom.js";
import { t } from "./language.js";
import { toast } from "./toast.js";

/** @param {string} text @param {string} what it is, for the notice */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("{what} copied.", { what }));
  } catch {
    toast(byHand(text) ? t("{what} copied.", { what }) : `${t("The browser does not allow copying.")} ${text}`);
  }
}

function byHand(text) {
  const area = el("textarea", { class: "hidden-visually", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
