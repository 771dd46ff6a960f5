/** Owns what every fan-out of events sends: a first event, and frames of so many bytes, at a pace. */

const [bytes = '0', intervalMs = '50'] = process.argv.slice(2);

export const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' };

export const firstEvent = 'event: session\ndata: "s"\n\n';

const frame = Buffer.from(
  `event: data\ndata: "${'x'.repeat(Math.max(0, Number(bytes) - 22))}"\n\n`,
);

/** Gives every frame to `send`, for as long as the process lives. */
export function eachInterval(send: (frame: Buffer) => void): void {
  setInterval(() => send(frame), Number(intervalMs));
}
