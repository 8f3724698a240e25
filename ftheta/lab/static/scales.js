/** Where a value stands on its slider, and how it reads. */

const STEPS = 240; // positions of a slider that is not counted in whole numbers

/** @typedef {{count: number, at: (value: number) => number, value: (position: number) => number}} Track */

/** The positions 0 … count of a knob's slider: `stops` where the lab is for a class, so that pages meet. @param {import("./state.js").Knob} knob @returns {Track} */
export function track(knob) {
  const { lo, hi, log } = knob.knob;
  if (knob.stops.length) return listed(knob.stops);
  if (log && lo > 0) return logarithmic(lo, hi, knob.type === "int");
  return even(lo, hi, knob.type === "int");
}

/** Steps of 1, 2 or 5 times a power of ten; both ends belong to it. */
function even(lo, hi, counted) {
  const step = Math.max(roundStep((hi - lo) / STEPS), counted ? 1 : 0);
  const count = Math.max(1, Math.round((hi - lo) / step));
  return {
    count,
    at: (value) => clamp((value - lo) / step, count),
    value: (position) => (position >= count ? hi : position <= 0 ? lo : tidy(lo + position * step, step)),
  };
}

function logarithmic(lo, hi, counted) {
  const decades = Math.log(hi / lo);
  const places = counted ? wholeNumbers(lo, hi, decades) : null;
  if (places) return listed(places);
  return {
    count: STEPS,
    at: (value) => clamp((Math.log(Math.max(value, lo) / lo) / decades) * STEPS, STEPS),
    value: (position) =>
      position >= STEPS
        ? hi
        : position <= 0
          ? lo
          : Number((lo * Math.exp((position / STEPS) * decades)).toPrecision(3)),
  };
}

/** These values, and none between. */
function listed(places) {
  const nearest = (value) =>
    places.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(places[best] - value) ? i : best), 0);
  return { count: Math.max(1, places.length - 1), at: nearest, value: (position) => places[Math.round(position)] };
}

/** The whole numbers that a logarithmic slider stops at: all small ones, then ever sparser. */
function wholeNumbers(lo, hi, decades) {
  const found = new Set();
  for (let i = 0; i <= STEPS; i++) {
    const value = lo * Math.exp((i / STEPS) * decades);
    found.add(value < 1000 ? Math.round(value) : Number(value.toPrecision(3)));
  }
  found.add(hi);
  return [...found].filter((value) => value >= lo && value <= hi).sort((a, b) => a - b);
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough * (1 - 1e-9)) || power;
}

/** The nearest multiple of the step, without the digits that binary fractions leave. */
const tidy = (value, step) => Number((Math.round(value / step) * step).toPrecision(12));

const clamp = (position, count) => Math.min(count, Math.max(0, position));

/** How a value is written in its box. */
export function written(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en-GB").replace("-", "−");
  const size = Math.abs(value);
  const text =
    size >= 1e-4 && size < 1e6 ? String(Number(value.toPrecision(6))) : value.toPrecision(4).replace(/\.?0+e/, "e");
  return text.replace("-", "−");
}
