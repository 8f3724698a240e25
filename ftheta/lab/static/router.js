/** The address bar: it names the whole state, back and forward lead through it. */
import { fromHash, toHash } from "./state.js";

const PAUSE = 300; // ms after which a moved slider is written into the address

export class Router {
  /** @param {Map<string, any>} theorems @param {(state: import("./state.js").State | null) => void} show */
  constructor(theorems, show) {
    this.theorems = theorems;
    this.show = show;
    addEventListener("popstate", () => this.read());
  }

  start() {
    this.read();
  }

  read() {
    clearTimeout(this.timer);
    const state = fromHash(location.hash, this.theorems);
    const hash = state ? toHash(state) : "#/";
    if (location.hash && location.hash !== hash) history.replaceState(null, "", hash); // in its one spelling
    this.show(state);
  }

  push(state) {
    clearTimeout(this.timer);
    const hash = toHash(state);
    if (hash !== location.hash) history.pushState(null, "", hash);
  }

  /** Write the state into the address, soon or at once, without a step of history. */
  follow(state, now = false) {
    clearTimeout(this.timer);
    const write = () => history.replaceState(null, "", toHash(state));
    if (now) write();
    else this.timer = setTimeout(write, PAUSE);
  }
}
