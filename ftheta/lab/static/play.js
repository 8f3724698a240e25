/** Play: a slider goes to and fro by itself. One at a time. */
import { calm } from "./dom.js";

const SWEEP = 7000; // ms from end to end
const CALM_STEPS = 8; // with reduced motion: so many stops, each held for a second
const CALM_PAUSE = 1000;

let current = null;

/** Start or stop a slider. `ready` says whether the last picture has come. */
export function toggle(slider, ready) {
  const same = current && current.slider === slider;
  stop();
  if (!same) start(slider, ready);
}

/** Stop what is playing. */
export function stop() {
  if (!current) return;
  cancelAnimationFrame(current.frame);
  clearTimeout(current.timer);
  current.slider.playing(false);
  current = null;
}

export const playing = () => (current ? current.slider : null);

function start(slider, ready) {
  const count = slider.track.count;
  const position = slider.track.at(slider.value);
  current = { slider, position, direction: position >= count ? -1 : 1, last: performance.now() };
  slider.playing(true);
  if (calm()) step(Math.max(1, Math.round(count / CALM_STEPS)));
  else current.frame = requestAnimationFrame((now) => glide(now, ready));
}

/** Move with time, but only when the last picture is there: a slow theorem is shown at every stop. */
function glide(now, ready) {
  if (ready()) move(((now - current.last) / SWEEP) * current.slider.track.count);
  current.last = now;
  current.frame = requestAnimationFrame((next) => glide(next, ready));
}

function step(size) {
  move(size);
  current.timer = setTimeout(() => step(size), CALM_PAUSE);
}

function move(distance) {
  const count = current.slider.track.count;
  current.position += current.direction * distance;
  if (current.position >= count || current.position <= 0) {
    current.position = Math.min(count, Math.max(0, current.position));
    current.direction = -current.direction;
  }
  current.slider.moveTo(Math.round(current.position));
}
