/** Owns giving way in long work: the browser paints and takes input every few milliseconds. */

const workMs = 8;

export class Pauses {
  #workedSince = performance.now();

  /** To be called often. */
  async take(): Promise<void> {
    if (performance.now() - this.#workedSince < workMs) return;
    await breathe();
    this.#workedSince = performance.now();
  }
}

/** A timer would wait longer than needed. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
}
