/** The bar at the top: where we are, how fast it was, and the buttons with their keys. */
import { byId, el, write } from "./dom.js";
import { choose, language, languages, t } from "./language.js";
import { dark, hides, onTheme, projector, toggleDark, togglePanel, toggleProjector, toggleStatement } from "./theme.js";

/** @param {{link: () => void, exporting: (button: HTMLElement) => void, help: () => void, side: () => void}} actions */
export function header(actions) {
  const button = (text, key, action, props = {}) =>
    el(
      "button",
      { type: "button", class: "action", on: { click: action }, "aria-keyshortcuts": key, ...props },
      el("span", { text }),
      el("kbd", { text: key }),
    );
  const theme = button(t("Dark"), "D", toggleDark, { "aria-pressed": "false" });
  const big = button(t("Projector"), "P", toggleProjector, { "aria-pressed": "false" });
  const statement = button(t("Statement"), "T", toggleStatement, { "aria-pressed": "true" });
  const panel = button(t("Controls"), "C", togglePanel, { "aria-pressed": "true" });
  const link = button(t("Copy link"), "S", actions.link);
  const save = button(t("Export"), "E", () => actions.exporting(save), {
    "aria-haspopup": "menu",
    "aria-expanded": "false",
  });
  const help = el("button", {
    type: "button",
    class: "action round",
    text: "?",
    "aria-label": t("Help: keys and verdicts"),
    on: { click: actions.help },
  });
  const fold = el("button", {
    type: "button",
    class: "action fold",
    "aria-label": t("Show or hide the list of theorems"),
    "aria-controls": "side",
    text: "☰",
    on: { click: actions.side },
  });
  const tongue = el(
    "select",
    { class: "action language", "aria-label": t("Language"), on: { change: () => choose(tongue.value) } },
    ...Object.entries(languages).map(([code, name]) => el("option", { value: code, text: name, lang: code })),
  );
  tongue.value = language;
  const crumb = el("span", { class: "crumb" });
  const pace = el("span", {
    class: "pace",
    title: t("From the request to the painted chart; in brackets the computation alone"),
  });
  byId("top").append(
    fold,
    el("a", { class: "brand", href: "#/", text: t("fθ lab") }),
    crumb,
    el("span", { class: "grow" }),
    pace,
    statement,
    panel,
    link,
    save,
    big,
    theme,
    tongue,
    help,
  );

  const pressed = () => {
    theme.setAttribute("aria-pressed", String(dark()));
    big.setAttribute("aria-pressed", String(projector()));
    statement.setAttribute("aria-pressed", String(!hides("statement")));
    panel.setAttribute("aria-pressed", String(!hides("panel")));
  };
  onTheme(pressed);
  pressed();
  return {
    save,
    fold,
    /** Show where we are; on the catalogue there is nothing to link or export. */
    place(text, theorem) {
      write(crumb, text);
      for (const part of [statement, panel, link, save, pace]) part.hidden = !theorem;
    },
    /** @param {number} whole ms to the painted chart @param {number} compute ms of it in the computation */
    pace(whole, compute) {
      write(pace, t("{whole} ms (compute {ms})", { whole: Math.round(whole), ms: compute < 9.5 ? compute.toFixed(1) : Math.round(compute) }));
    },
    clearPace: () => write(pace, ""),
  };
}
