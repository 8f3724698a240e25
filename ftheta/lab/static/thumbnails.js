/** Pictures of the cards: asked for when they come into view, two at a time, with patience while they are computed. */
import { thumbnail } from "./api.js";
import { el } from "./dom.js";
import { dark, onTheme } from "./theme.js";

const AT_ONCE = 2;
const MOST_TRIES = 60;

export class Thumbnails {
  /** @param {(id: string, verdict: string) => void} verdict told what the default run found */
  constructor(verdict) {
    this.verdict = verdict;
    this.places = new Map();
    this.queue = new Map();
    this.active = 0;
    this.paused = true;
    this.observer = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "300px" });
    onTheme(() => this.restart());
  }

  watch(id, node) {
    this.places.set(node, { id, theme: "" });
    this.observer.observe(node);
  }

  seen(entries) {
    for (const { target, isIntersecting } of entries) {
      const place = this.places.get(target);
      place.visible = isIntersecting;
      if (isIntersecting && place.theme !== theme()) this.queue.set(target, 0);
      else this.queue.delete(target);
    }
    this.pump();
  }

  restart() {
    for (const [node, place] of this.places) if (place.visible) this.queue.set(node, 0);
    this.pump();
  }

  pause() {
    this.paused = true;
    this.abort?.abort();
  }

  resume() {
    this.paused = false;
    this.abort = new AbortController();
    this.pump();
  }

  pump() {
    while (!this.paused && this.active < AT_ONCE && this.queue.size) {
      const [node, tries] = this.queue.entries().next().value;
      this.queue.delete(node);
      this.active++;
      this.fetch(node, tries).finally(() => {
        this.active--;
        this.pump();
      });
    }
  }

  async fetch(node, tries) {
    const place = this.places.get(node);
    const wanted = theme();
    try {
      const found = await thumbnail(place.id, wanted, this.abort.signal);
      if (found.wait) return this.later(node, tries, found.wait);
      place.theme = wanted;
      if (found.blob) await this.put(node, found.blob);
      else node.classList.add("missing");
      if (found.verdict) this.verdict(place.id, found.verdict);
    } catch (error) {
      if (error.name === "AbortError") this.queue.set(node, tries);
      else node.classList.add("missing");
    }
  }

  later(node, tries, seconds) {
    node.classList.add("computing");
    if (tries < MOST_TRIES) setTimeout(() => this.again(node, tries + 1), 1000 * seconds);
  }

  again(node, tries) {
    if (this.places.get(node).visible) this.queue.set(node, tries);
    this.pump();
  }

  async put(node, blob) {
    const image = el("img", { alt: "", decoding: "async" });
    image.src = URL.createObjectURL(blob);
    await image.decode().catch(() => {});
    URL.revokeObjectURL(image.src);
    node.replaceChildren(image);
    node.classList.remove("computing", "missing");
  }
}

const theme = () => (dark() ? "dark" : "light");
