/** One WebSocket, opened again with growing pauses when it is lost. */

const PAUSES = [300, 700, 1500, 3000, 6000];

export class Line {
  /** @param {{message: (frame: any, bytes: number) => void, open: () => void, lost: (seconds: number) => void}} hooks */
  constructor(hooks) {
    this.hooks = hooks;
    this.failures = 0;
    this.connect();
    addEventListener("online", () => this.now());
  }

  get up() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.failures = 0;
      this.hooks.open();
    });
    socket.addEventListener("message", (event) => this.hooks.message(JSON.parse(event.data), event.data.length));
    socket.addEventListener("close", () => this.wait(socket));
  }

  wait(socket) {
    if (socket !== this.socket) return;
    const pause = PAUSES[Math.min(this.failures++, PAUSES.length - 1)];
    this.hooks.lost(pause / 1000);
    this.timer = setTimeout(() => this.connect(), pause);
  }

  /** Try again at once. */
  now() {
    if (this.up || this.socket.readyState === WebSocket.CONNECTING) return;
    clearTimeout(this.timer);
    this.connect();
  }

  /** @returns {boolean} whether the frame was sent */
  send(frame) {
    if (this.up) this.socket.send(JSON.stringify(frame));
    return this.up;
  }
}
