/**
 * What the page shows: one theorem with its values. The address bar holds the same.
 *
 * @typedef {Object} State
 * @property {string} theorem
 * @property {string} subject   "built-in", "breaker" or the id of a subject
 * @property {string | null} preset
 * @property {Record<string, any>} knobs   values that differ from the preset's
 * @property {number} seed
 * @property {boolean} force   measure although a hypothesis fails
 * @property {number} chart   which chart is in front
 *
 * @typedef {Object} Knob
 * @property {string} name
 * @property {"int" | "float" | "str" | "bool"} type
 * @property {any} default
 * @property {string} symbol_html
 * @property {string} says_html
 * @property {any[]} stops   the only positions of its slider; empty where it has its own
 * @property {{lo: number, hi: number, says: string, symbol: string, log: boolean,
 *             least: number | null, most: number | null, choices: string[]}} knob
 */

export const BUILT_IN = "built-in";
export const BREAKER = "breaker";
export const BROKEN = "broken on purpose";
const AUDIT = "audit";
const COURSES = "courses";
const RESERVED = ["preset", "subject", "seed", "force", "chart"];

/** The state in which a theorem is first met. @returns {State} */
export function fresh(theorem) {
  return { theorem, subject: BUILT_IN, preset: null, knobs: {}, seed: 0, force: false, chart: 0 };
}

/** The values before any change by hand: defaults, then the preset's. */
export function baseline(theorem, preset) {
  const chosen = theorem.presets.find((p) => p.name === preset);
  return { ...Object.fromEntries(theorem.knobs.map((k) => [k.name, k.default])), ...(chosen ? chosen.knobs : {}) };
}

/** The values of all knobs. */
export const values = (theorem, state) => ({ ...baseline(theorem, state.preset), ...state.knobs });

/** The state with one knob set; a value equal to the preset's is no change. @returns {State} */
export function withKnob(theorem, state, name, value) {
  const knobs = { ...state.knobs, [name]: value };
  if (Object.is(baseline(theorem, state.preset)[name], value)) delete knobs[name];
  return { ...state, knobs };
}

/** `#/id?knob=value…`, with what differs from the default alone. @param {State} state */
export function toHash(state) {
  if (state.audit) return auditHash(state.audit);
  if (state.courses) return `#/${COURSES}${state.courses.name ? `/${encodeURIComponent(state.courses.name)}` : ""}`;
  const query = new URLSearchParams();
  if (state.preset) query.set("preset", state.preset);
  for (const [name, value] of Object.entries(state.knobs)) query.set(name, String(value));
  if (state.seed) query.set("seed", String(state.seed));
  if (state.subject !== BUILT_IN) query.set("subject", state.subject);
  if (state.force) query.set("force", "1");
  if (state.chart) query.set("chart", String(state.chart));
  const text = query.toString();
  return `#/${state.theorem}${text ? `?${text}` : ""}`;
}

/** `#/audit?model=…`: what the audit page has chosen, in the order of its fields. */
function auditHash(choice) {
  const chosen = ["model", "data", "train", "budget"].filter((name) => choice[name]).map((name) => [name, choice[name]]);
  const text = new URLSearchParams(chosen).toString();
  return `#/${AUDIT}${text ? `?${text}` : ""}`;
}

/** The state that a hash names; null for the catalogue. Unknown names are left out. @returns {State | null} */
export function fromHash(hash, theorems) {
  const [path, text = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first, name = ""] = path.split("/", 2);
  if (first === COURSES) return { courses: { name: decodeURIComponent(name) } };
  if (path === AUDIT) return { audit: Object.fromEntries(new URLSearchParams(text)) };
  const theorem = theorems.get(decodeURIComponent(path));
  if (!theorem) return null;
  const query = new URLSearchParams(text);
  const state = fresh(theorem.id);
  const preset = query.get("preset");
  if (theorem.presets.some((p) => p.name === preset)) state.preset = preset;
  state.subject = query.get("subject") || BUILT_IN;
  state.seed = whole(query.get("seed"));
  state.chart = whole(query.get("chart"));
  state.force = query.get("force") === "1";
  return theorem.knobs.reduce((found, knob) => {
    const written = query.get(knob.name);
    const value = written === null || RESERVED.includes(knob.name) ? null : read(knob, written);
    return value === null ? found : withKnob(theorem, found, knob.name, value);
  }, state);
}

/** A typed value of a knob; null if it cannot be one. @param {Knob} knob @param {string} text */
export function read(knob, text) {
  const bare = text
    .trim()
    .replace("−", "-")
    .replace(/,(?=\d{3}\b)/g, "");
  if (knob.type === "bool") return bare === "true" ? true : bare === "false" ? false : null;
  if (knob.type === "str") return text;
  const number = bare === "" ? NaN : Number(bare);
  if (!Number.isFinite(number) || (knob.type === "int" && !Number.isInteger(number))) return null;
  return number;
}

function whole(text) {
  const number = Number(text);
  return Number.isSafeInteger(number) && number >= 0 ? number : 0;
}
