/**
 * Owns the links that set a new password. They are files: whoever may write into the data directory and
 * holds the instance key can make one, whether the service runs or not, and the service accepts it.
 *
 * 1. A file holds no token: its name is the token's hash, and its content is sealed for that name.
 * 2. A link is good once, for an hour: whoever removes its file has claimed it.
 * 3. A new link for a person ends the earlier ones.
 */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SecretBox } from '../../store/secrets.ts';
import { tokenHash } from '../callers/token-codec.ts';

/** Below the data directory. */
export const resetsFolder = 'resets';
export const resetLengthMs = 60 * 60 * 1_000;

export interface PasswordReset {
  userId: string;
  /** Whether it also turns two-factor off. */
  endsTwoFactor: boolean;
  expiresAtMs: number;
}

export interface PasswordResetsOptions {
  /** The folder of the files; made with the first one. */
  dir: string;
  secrets: Pick<SecretBox, 'seal' | 'open'>;
  now: () => number;
}

const tokenForm = /^[A-Za-z0-9_-]{43}$/;
const nameForm = /^[0-9a-f]{64}$/;

export class PasswordResets {
  readonly #options: PasswordResetsOptions;

  constructor(options: PasswordResetsOptions) {
    this.#options = options;
  }

  /** Makes a link's token. */
  async create(reset: Omit<PasswordReset, 'expiresAtMs'>): Promise<string> {
    const { dir, secrets, now } = this.#options;
    const owner = await stat(dirname(dir));
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await this.#clear(reset.userId);
    const token = randomBytes(32).toString('base64url');
    const name = tokenHash(token);
    const full: PasswordReset = { ...reset, expiresAtMs: now() + resetLengthMs };
    const draft = join(dir, `.${name}`);
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(secrets.seal(JSON.stringify(full), contextOf(name)));
      await file.sync();
    } finally {
      await file.close();
    }
    // When root makes the file for a service under another uid, that uid has to read and remove it.
    if (process.getuid?.() === 0) {
      await chown(dir, owner.uid, owner.gid);
      await chown(draft, owner.uid, owner.gid);
    }
    await rename(draft, join(dir, name));
    return token;
  }

  /** What a link is for; null when there is none, or it was used, or is too old. */
  async find(token: string): Promise<PasswordReset | null> {
    return tokenForm.test(token) ? await this.#read(tokenHash(token)) : null;
  }

  /** The same, and the link is used up. Of two that claim it, one gets it. */
  async claim(token: string): Promise<PasswordReset | null> {
    const found = await this.find(token);
    if (found === null) return null;
    try {
      await unlink(join(this.#options.dir, tokenHash(token)));
      return found;
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  async #read(name: string): Promise<PasswordReset | null> {
    const { dir, secrets, now } = this.#options;
    const sealed = await readFile(join(dir, name)).catch((error: unknown) => {
      if (isGone(error)) return null;
      throw error;
    });
    if (sealed === null) return null;
    let reset: PasswordReset;
    try {
      reset = JSON.parse(secrets.open(sealed, contextOf(name))) as PasswordReset;
    } catch {
      return null; // Not sealed by this instance, so it is no link of ours.
    }
    return reset.expiresAtMs > now() ? reset : null;
  }

  /** Removes links that are too old, and those of a person. */
  async #clear(userId: string): Promise<void> {
    const { dir } = this.#options;
    for (const name of await readdir(dir)) {
      const reset = nameForm.test(name) ? await this.#read(name) : null;
      if (reset === null || reset.userId === userId) await rm(join(dir, name), { force: true });
    }
  }
}

function contextOf(name: string): string {
  return `password-reset:${name}`;
}

function isGone(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ENOENT';
}
