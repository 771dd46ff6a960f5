/** Owns reading an event stream as a client does, from chunks cut anywhere; for tests. */
import { StringDecoder } from 'node:string_decoder';

export interface SseEvent {
  event: string;
  data: string;
  /** The last id seen up to this event, '' for none. */
  id: string;
}

export class SseParser {
  readonly comments: string[] = [];
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id = '';

  /** Events completed by these bytes. Only `\n` ends a line, as our frames are written. */
  push(bytes: Uint8Array): SseEvent[] {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(bytes))).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SseEvent | undefined {
    if (line.startsWith(':')) {
      this.comments.push(line.slice(1).trim());
    } else if (line.startsWith('id: ')) {
      this.#id = line.slice(4);
    } else if (line.startsWith('event: ')) {
      this.#event = line.slice(7);
    } else if (line.startsWith('data: ')) {
      this.#data.push(line.slice(6));
    } else if (line === '' && this.#data.length > 0) {
      const done = { event: this.#event, data: this.#data.join('\n'), id: this.#id };
      this.#event = '';
      this.#data = [];
      return done;
    }
    return undefined;
  }
}
