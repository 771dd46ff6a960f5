/**
 * Owns Server-Sent Events as bytes (WHATWG HTML, section 9.2).
 *
 * 1. Data is one JSON value on one line; JSON escapes every newline, so no text can forge a frame.
 * 2. An event whose data is empty is never dispatched by a browser: an empty string is sent as
 *    `""`, as JSON like all other data.
 */

/** The head of an event stream's answer. */
export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

/** One event. `data` becomes JSON; `id` is what a client sends back as `Last-Event-ID`. */
export function sseEvent(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A line that clients skip, but for the `id`. `text` holds no newline. */
export function sseComment(text: string, id?: string): string {
  return `: ${text}\n${id === undefined ? '' : `id: ${id}\n`}\n`;
}

/** A place in a log, as it stands in `id:`: behind the line of this offset. */
export interface Cursor {
  generation: string;
  offset: number;
}

export function formatCursor(cursor: Cursor): string {
  return `${cursor.generation}:${String(cursor.offset)}`;
}

/** Undefined for what `formatCursor` never wrote. */
export function parseCursor(text: string): Cursor | undefined {
  const match = /^([a-z0-9]{1,32}):(0|[1-9]\d{0,14})$/.exec(text);
  if (match?.[1] === undefined) return undefined;
  return { generation: match[1], offset: Number(match[2]) };
}
