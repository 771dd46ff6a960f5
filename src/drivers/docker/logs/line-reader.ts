/** Owns splitting chunks of a stream into lines, as the daemon sends events and progress. */
import { StringDecoder } from 'node:string_decoder';

/** The daemon sends no longer lines. A longer one is given in pieces. */
const lineMax = 1024 * 1024;

export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  /** The lines that are whole now, without line ends and without empty lines. */
  push(chunk: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(chunk))).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > lineMax) {
      lines.push(this.#rest);
      this.#rest = '';
    }
    return lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '');
  }

  /** The text after the last line end. */
  end(): string[] {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = '';
    return rest === '' ? [] : [rest];
  }
}
