/** Small helpers to build the page. Text goes in as text; only `rendered` takes HTML. */

/**
 * An element with properties and children.
 * `class`, `text`, `data` and `on` are special; other keys become attributes (true: empty, false and null: left out).
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement & Record<string, any>}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "text") node.textContent = value;
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "on") for (const [name, listener] of Object.entries(value)) node.addEventListener(name, listener);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const shown = new WeakMap();

/**
 * Put HTML made by the server's own renderer (escaped words and MathML) into an element, if it is not there already.
 * @param {HTMLElement} node
 * @param {string} html
 */
export function rendered(node, html) {
  if (shown.get(node) === html) return node;
  shown.set(node, html);
  node.innerHTML = html;
  return node;
}

/** An element that holds HTML made by the server. */
export const withHtml = (tag, html, props = {}) => rendered(el(tag, props), html || "");

/** Text as HTML. */
export const escaped = (text) => el("span", { text }).innerHTML;

/** Set text only where it differs: the browser does less, screen readers stay quiet. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** The element of this id. */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Whether the window is that of a phone, as in the style sheet. */
export const narrow = () => matchMedia("(max-width: 720px)").matches;

/** Whether the person asked for less motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
