// What keeps people from using a page: controls without a name, pictures without words, headings that skip a level,
// references to nothing, ids that occur twice, an order of focus that is not that of the page.
() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (node) => node.checkVisibility();
  const brief = (node) => node.outerHTML.slice(0, 110);
  const byIds = (text) => text.split(/\s+/).map((id) => document.getElementById(id));
  const named = (node) =>
    node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length || node.getAttribute("alt");

  const nameless = all("button, input, select, textarea, a[href], summary, [role=tab], [role=button]")
    .filter((node) => shown(node) && !named(node))
    .map((node) => `no name: ${brief(node)}`);
  const wordless = all("canvas, img, svg, [role=img]")
    .filter((node) => shown(node) && !node.closest("[aria-hidden=true]"))
    .filter((node) => (node.getAttribute("aria-label") || node.getAttribute("alt") || "").length < 2)
    .map((node) => `no words for a picture: ${brief(node)}`);
  const levels = all("main :is(h1, h2, h3, h4, h5, h6)").filter(shown);
  const skipped = levels
    .filter((node, i) => Number(node.tagName[1]) > (i ? Number(levels[i - 1].tagName[1]) : 0) + 1)
    .map((node) => `skips a level: ${brief(node)}`);
  const dangling = ["aria-describedby", "aria-labelledby", "aria-controls"].flatMap((name) =>
    all(`[${name}]`)
      .filter((node) => shown(node) && byIds(node.getAttribute(name)).includes(null))
      .map((node) => `${name} of nothing: ${brief(node)}`),
  );
  const ids = all("[id]").map((node) => node.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) < i).map((id) => `id twice: ${id}`);
  const jumps = all("[tabindex]")
    .filter((node) => node.tabIndex > 0)
    .map((node) => `tabindex: ${brief(node)}`);
  const page = [document.documentElement.lang, document.title].every(Boolean) ? [] : ["no language or no title"];
  return [...nameless, ...wordless, ...skipped, ...dangling, ...twice, ...jumps, ...page];
};
