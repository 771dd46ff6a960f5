/** Owns the letters that a connection of HTTP/2 begins with (RFC 9113, 3.4), however they come. */

const letters = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export class Preface {
  #read = 0;

  get isWhole(): boolean {
    return this.#read === letters.length;
  }

  /** How many of the bytes are its own; undefined: they are none of it. */
  read(bytes: Buffer): number | undefined {
    const length = Math.min(bytes.length, letters.length - this.#read);
    const end = this.#read + length;
    const isRight = bytes.toString('latin1', 0, length) === letters.slice(this.#read, end);
    this.#read = end;
    return isRight ? length : undefined;
  }
}
