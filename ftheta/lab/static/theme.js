/** Dark, projector, and what is hidden: choices of the person who looks, kept in this browser and not part of a link. */

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];

/** How much larger the projector shows charts. */
export const PROJECTOR_ZOOM = 1.35;

export const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
export const projector = () => root.dataset.projector === "on";

export function toggleDark() {
  root.dataset.theme = dark() ? "light" : "dark";
  keep("theme", root.dataset.theme);
  changed();
}

export function toggleProjector() {
  if (projector()) delete root.dataset.projector;
  else root.dataset.projector = "on";
  keep("projector", projector() ? "on" : "");
  changed();
}

/** Without its statement, or without the panel at the right, a page has more room for its chart. */
export const hides = (part) => root.dataset[part] === "hidden";
export const toggleStatement = () => toggleHidden("statement");
export const togglePanel = () => toggleHidden("panel");

function toggleHidden(part) {
  if (hides(part)) delete root.dataset[part];
  else root.dataset[part] = "hidden";
  keep(part, hides(part) ? "hidden" : "");
  changed();
}

/** Be told when any of them changes. */
export const onTheme = (listener) => listeners.push(listener);

export function restoreTheme() {
  const theme = kept("theme");
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  if (kept("projector") === "on") root.dataset.projector = "on";
  for (const part of ["statement", "panel"]) if (kept(part) === "hidden") root.dataset[part] = "hidden";
  system.addEventListener("change", changed);
}

const changed = () => listeners.forEach((listener) => listener());

/** Storage may be forbidden; the page works without it. */
export function kept(name) {
  try {
    return localStorage.getItem(`ftheta-${name}`);
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`ftheta-${name}`, value);
  } catch {
    /* private windows */
  }
}
