/**
 * Latest wins. At most one request is on its way; while it is, only the newest state is kept and sent when the answer
 * comes. A drag therefore goes as fast as the server answers; when the hand rests, a stale computation is cancelled.
 */

const REST = 250; // ms without a newer state after which the one on its way is given up

/**
 * @typedef {Object} Hooks
 * @property {(running: {since: number, text: string} | null) => void} busy
 * @property {(frame: any, run: {state: any, asked: number, bytes: number}) => void} result
 * @property {(frame: any, run: any) => void} error
 * @property {(run: any) => void} cancelled
 */
export class Runner {
  /** @param {(frame: any) => boolean} send @param {Hooks} hooks */
  constructor(send, hooks) {
    this.send = send;
    this.hooks = hooks;
    this.n = 0;
    this.running = null;
    this.before = null; // given up for `running`, but perhaps answered all the same
    this.waiting = null;
  }

  /** Ask for a state, drawn in a size. `asked` is the time of the event that wants it; `now` gives up what is running. */
  ask(state, size, { asked = performance.now(), now = false } = {}) {
    this.waiting = { state, size, asked };
    clearTimeout(this.rest);
    if (!this.running || now) this.next();
    else this.rest = setTimeout(() => this.next(), REST);
  }

  next() {
    clearTimeout(this.rest);
    if (!this.waiting) return;
    const run = { ...this.waiting, n: ++this.n, since: performance.now(), text: "" };
    if (!this.send({ type: "run", n: run.n, state: run.state, size: run.size })) return; // kept until the line is open again
    this.waiting = null;
    this.before = this.running;
    this.running = run;
    this.hooks.busy(run);
  }

  /** Stop what is running, and want nothing more. */
  cancel() {
    this.waiting = null;
    clearTimeout(this.rest);
    if (this.running) this.send({ type: "cancel", n: this.running.n });
  }

  /** The line was lost: what was on its way is asked for again. */
  lost() {
    this.waiting ??= this.running;
    this.done();
  }

  /** A frame of the server. Of given-up requests only a picture is taken, while there is no newer one. */
  receive(frame, bytes) {
    const run = this.running;
    if (run && this.before && frame.n === this.before.n && frame.type === "result") {
      this.hooks.result(frame, { ...this.before, bytes });
      return;
    }
    if (!run || frame.n !== run.n) return;
    if (frame.type === "progress") {
      run.text = frame.text;
      this.hooks.busy(run);
      return;
    }
    if (!["result", "error", "cancelled"].includes(frame.type)) return;
    this.done();
    if (this.waiting) this.next();
    if (frame.type === "result") this.hooks.result(frame, { ...run, bytes });
    else if (frame.type === "error") this.hooks.error(frame, run);
    else if (!this.running) this.hooks.cancelled(run);
  }

  done() {
    this.running = this.before = null;
    this.hooks.busy(null);
  }
}
