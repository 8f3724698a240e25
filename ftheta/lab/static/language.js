/**
 * The words of the page in the language of the person who looks: that of the address (`?lang=fr`) or the one chosen
 * before, else the one that the server has found in what the browser asks for. The English words are the key.
 */
import { keep, kept } from "./theme.js";

const root = document.documentElement;
const { language: found, languages, words } = await load();

/** The language that is spoken, `en` or `fr`, and all of them with their own names. */
export const language = found;
export { languages };
root.lang = found;

const rules = new Intl.PluralRules(found);

/** The words in the language that is spoken, with values in place of `{name}`. @param {string} text */
export function t(text, values = {}) {
  return filled(words[text] ?? text, values);
}

/** The words for this number of things; `{n}` is the number. */
export function tn(one, many, n, values = {}) {
  const said = words[`${one}\0${many}`]?.split("\0") ?? [one, many];
  return filled(said[rules.select(n) === "one" ? 0 : 1], { n, ...values });
}

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place));

/** Speak another language from now on. */
export function choose(other) {
  keep("lang", other);
  const address = new URL(location.href);
  address.searchParams.delete("lang");
  if (address.href === location.href) location.reload();
  else location.replace(address); // the same page without the question
}

async function load() {
  const asked = new URLSearchParams(location.search).get("lang");
  const wanted = asked || kept("lang") || root.lang;
  const response = await fetch(`/api/words?lang=${encodeURIComponent(wanted)}`).catch(() => null);
  if (!response?.ok) return { language: "en", languages: {}, words: {} };
  const said = await response.json();
  if (asked) keep("lang", said.language);
  return said;
}
