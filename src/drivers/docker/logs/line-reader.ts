/** Owns the step from chunks of a stream to its lines, as the daemon sends events and progress. */
import { StringDecoder } from 'node:string_decoder';

/** No answer of the daemon has longer lines; what is longer comes in pieces. */
const lineMax = 1024 * 1024;

export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  /** The lines that are whole now, without their ends and without empty ones. */
  push(chunk: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(chunk))).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > lineMax) {
      lines.push(this.#rest);
      this.#rest = '';
    }
    return lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '');
  }

  /** What came behind the last line's end. */
  end(): string[] {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = '';
    return rest === '' ? [] : [rest];
  }
}
