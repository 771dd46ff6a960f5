/**
 * Owns how the variables of a workload lie on disk: encrypted with a key that the runner was handed
 * at its start and keeps in memory alone.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
export const runnerKeyBytes = 32;

type Env = Readonly<Record<string, string>>;

export class EnvSeal {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    if (key.length !== runnerKeyBytes) throw new Error('Cannot seal variables: the key is no key');
    this.#key = key;
  }

  /** `context` is the workload's id: what was sealed for one does not open for another. */
  seal(env: Env, context: string): string {
    const nonce = randomBytes(nonceBytes);
    const box = createCipheriv(cipher, this.#key, nonce, { authTagLength: tagBytes });
    box.setAAD(Buffer.from(context));
    const sealed = [box.update(JSON.stringify(env), 'utf8'), box.final()];
    return Buffer.concat([nonce, box.getAuthTag(), ...sealed]).toString('base64');
  }

  /** Throws when the key, the context or the text is another. */
  open(sealed: string, context: string): Env {
    const bytes = Buffer.from(sealed, 'base64');
    const nonce = bytes.subarray(0, nonceBytes);
    const box = createDecipheriv(cipher, this.#key, nonce, { authTagLength: tagBytes });
    box.setAAD(Buffer.from(context));
    box.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    const opened = [box.update(bytes.subarray(nonceBytes + tagBytes)), box.final()];
    return JSON.parse(Buffer.concat(opened).toString('utf8')) as Env;
  }
}
