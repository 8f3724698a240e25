// Every piece of text on the page against what lies behind it: those below the contrast that WCAG 2 AA asks for.
() => {
  const channels = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    return [...found.slice(0, 3), found[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = colour.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const upwards = function* (node) {
    for (let here = node; here; here = here.parentElement) yield getComputedStyle(here);
  };
  const ground = (node) => {
    const layers = [];
    for (const style of upwards(node)) {
      layers.push(channels(style.backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const opacity = (node) => [...upwards(node)].reduce((all, style) => all * Number(style.opacity), 1);

  const bad = [];
  let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    if (!text || !node.checkVisibility({ visibilityProperty: true })) continue;
    if (node.closest(":disabled, .off, .hidden-visually, .skip, script, noscript, option")) continue;
    const style = getComputedStyle(node);
    const below = ground(node);
    const [r, g, b, a] = channels(style.color);
    const found = ratio(over([r, g, b, a * opacity(node)], below), below);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (found < (large ? 3 : 4.5)) bad.push(`${node.tagName}.${node.className} “${text.slice(0, 30)}” ${found.toFixed(2)}`);
  }
  return { bad, seen };
};
