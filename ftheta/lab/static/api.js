/** The server's HTTP side. Every answer that is no success becomes a `Refused` with the server's words. */
import { language, t } from "./language.js";

/** What the server refused and how to do better. */
export class Refused extends Error {
  /** @param {{what: string, where?: string, got?: string, remedy?: string}} said */
  constructor(said) {
    super(said.what);
    this.said = said;
  }
}

/** One line of words for an error that the server sent. */
export function sentence(said) {
  const got = said.got ? ` ${t("Got: {value}.", { value: said.got })}` : "";
  const remedy = said.remedy ? ` ${capital(said.remedy)}.` : "";
  return `${said.what}${got}${remedy}`.replace(/\.\.(?!\.)/g, ".");
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const catalogue = () => answer(`/api/catalogue?lang=${language}`);
export const subjects = () => answer("/api/subjects");
export const courses = () => answer(`/api/courses?lang=${language}`);

/** Whether the server is there and no longer knows this page: it was started again, with a new token. */
export async function forgotten() {
  const response = await fetch("/api/catalogue", { method: "HEAD" }).catch(() => null);
  return response !== null && response.status === 401;
}

/** Give the server a file; the answer is the subject's entry. @param {File} file */
export function upload(file) {
  return answer(`/api/subjects?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
}

/** A file made of the state: its bytes and its name. */
export async function exported(format, state) {
  const response = await asked(`/api/export?format=${format}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(state),
  });
  const name = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") || "");
  return { blob: await response.blob(), name: name ? name[1] : `${state.theorem}.${format}` };
}

/** The small picture of a theorem, `{blob, verdict}` (no blob: nothing to draw), or how many seconds to `{wait}`. */
export async function thumbnail(id, theme, signal) {
  const response = await asked(`/api/thumbnail/${encodeURIComponent(id)}?theme=${theme}`, { signal });
  if (response.status === 202) {
    await response.arrayBuffer(); // an answer that is not read to its end counts as failed
    return { wait: Number(response.headers.get("Retry-After")) || 1 };
  }
  return { blob: response.status === 204 ? null : await response.blob(), verdict: response.headers.get("X-Verdict") };
}

async function answer(path, options) {
  return (await asked(path, options)).json();
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ what: t("The lab's server does not answer."), remedy: t("start it again with `ftheta lab`") });
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Refused(said.error || { what: t("The server answered {status}.", { status: response.status }) });
}
