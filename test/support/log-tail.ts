/** Follows a log stream over HTTP as an EventSource does, for scenarios. */
import { SseParser } from './sse-parser.ts';
import type { SseEvent } from './sse-parser.ts';

export class LogTail {
  readonly events: SseEvent[] = [];
  readonly parser = new SseParser();
  status = 0;
  /** What an answer that is no stream said. */
  text = '';
  /** Log text so far. */
  log = '';
  ended = false;
  readonly #abort = new AbortController();
  readonly #opened = Promise.withResolvers<undefined>();

  /** With a body, as one that asks by POST. */
  constructor(url: string, headers: Record<string, string>, body: string | null = null) {
    this.#follow(url, headers, body).catch(() => {
      // The connection broke: what came until then is what counts.
      this.ended = true;
      this.#opened.resolve(undefined);
    });
  }

  /** Resolves once the answer has begun. */
  async opened(): Promise<this> {
    await this.#opened.promise;
    return this;
  }

  get lastId(): string {
    return this.events.findLast(({ id }) => id !== '')?.id ?? '';
  }

  get sessionId(): string {
    return JSON.parse(this.events[0]?.data ?? '""') as string;
  }

  count(event: string): number {
    return this.events.filter((one) => one.event === event).length;
  }

  close(): void {
    this.#abort.abort();
  }

  async #follow(url: string, headers: Record<string, string>, body: string | null): Promise<void> {
    const method = body === null ? 'GET' : 'POST';
    const response = await fetch(url, { method, body, headers, signal: this.#abort.signal });
    this.status = response.status;
    this.#opened.resolve(undefined);
    if (!response.ok || response.body === null) {
      this.text = await response.text();
      this.ended = true;
      return;
    }
    for await (const bytes of response.body) {
      for (const event of this.parser.push(bytes as Uint8Array)) {
        this.events.push(event);
        if (event.event === 'data') this.log += JSON.parse(event.data) as string;
      }
    }
    this.ended = true;
  }
}
