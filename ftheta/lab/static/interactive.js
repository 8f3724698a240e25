/**
 * A theorem page without a server: every position of its slider was computed ahead and is in the page.
 * Charts are drawn as SVG; of several moves the last one wins.
 */
import { expressionInterpreter } from "./vendor/vega-interpreter.js";

const { vega } = globalThis;
const byId = (id) => document.getElementById(id);
const slider = byId("position");

/** The loader of charts: pictures that are in the specification, nothing else. */
const loader = vega.loader();
loader.sanitize = async (uri) => {
  if (!uri.startsWith("data:image/png;base64,")) throw new Error("charts load nothing");
  return { href: uri };
};

async function read() {
  const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const viewOf = (spec) =>
  new vega.View(vega.parse(spec, null, { ast: true }), { expr: expressionInterpreter, renderer: "none", loader, logLevel: vega.Warn });

/** Put the SVG of a view into its place: one image with one description. */
async function draw(view, place, described) {
  place.innerHTML = await view.toSVG();
  const svg = place.firstElementChild;
  for (const node of svg.querySelectorAll("[role], [aria-label], [aria-roledescription]")) {
    for (const name of ["role", "aria-label", "aria-roledescription", "aria-hidden"]) node.removeAttribute(name);
  }
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", described);
}

/** A slider of time for a chart that moves; nothing for others. */
function timeOf(chart, view, place) {
  const clocks = (chart.spec.data || []).find(({ name }) => name === "course")?.values ?? [];
  if (clocks.length < 2) return [];
  const time = document.createElement("input");
  Object.assign(time, { type: "range", min: 0, max: clocks.length - 1, value: clocks.length - 1 });
  time.setAttribute("aria-label", "time");
  time.addEventListener("input", async () => {
    await view.signal("frame", Number(time.value)).runAsync();
    await draw(view, place, chart.described);
  });
  return [time];
}

async function figureOf(chart) {
  const figure = document.createElement("figure");
  const place = document.createElement("div");
  const caption = document.createElement("figcaption");
  const view = viewOf(chart.spec);
  await draw(view, place, chart.described);
  caption.innerHTML = chart.caption;
  figure.append(place, ...timeOf(chart, view, place), caption);
  return figure;
}

async function show(position) {
  const [first, ...others] = await Promise.all(position.charts.map(figureOf));
  byId("chart").replaceChildren(...(first ? [first] : []));
  byId("charts").replaceChildren(...others);
  byId("verdict").innerHTML = position.pill;
  byId("outcome").innerHTML = position.outcome;
  byId("tables").innerHTML = position.tables;
}

/** The position that the address names, as in `#kappa=50`: the one with the nearest value. */
function named(content) {
  const value = new URLSearchParams(location.hash.slice(1)).get(content.knob);
  if (value === null) return content.start;
  const exact = content.positions.findIndex((position) => String(position.value) === value);
  if (exact >= 0 || Number.isNaN(Number(value))) return Math.max(exact, 0);
  const gaps = content.positions.map((position) => Math.abs(position.value - Number(value)));
  return gaps.indexOf(Math.min(...gaps));
}

async function main() {
  const content = await read();
  let drawing = false;
  let wanted = null;

  const move = async (index) => {
    const position = content.positions[index];
    byId("value").textContent = position.label;
    slider.setAttribute("aria-valuetext", position.label);
    for (const [i, cell] of [...byId("strip").children].entries()) cell.toggleAttribute("data-here", i === index);
    wanted = position;
    if (drawing) return;
    drawing = true;
    while (wanted) {
      const next = wanted;
      wanted = null;
      await show(next);
    }
    drawing = false;
    document.body.dataset.shown = String(content.positions.indexOf(position));
  };

  slider.addEventListener("input", () => {
    const index = Number(slider.value);
    history.replaceState(null, "", `#${content.knob}=${encodeURIComponent(content.positions[index].value)}`);
    move(index);
  });
  addEventListener("hashchange", () => {
    slider.value = named(content);
    move(Number(slider.value));
  });
  slider.disabled = false;
  slider.value = named(content);
  await move(Number(slider.value));
}

main();
