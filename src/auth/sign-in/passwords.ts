/**
 * Owns the checking of passwords. Refusing an account that does not exist takes as long as refusing a
 * wrong password.
 */
import { credentialOf } from '../../actors/account/security.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import { comparablePassword, emailKey } from './sign-in-input.ts';
import type { SignInLibrary } from './sign-in-library.ts';

/** Whose password was right, and the stored hash that it was checked with. */
export interface Checked {
  userId: string;
  passwordHash: string;
}

export class Passwords {
  readonly #reader: Reader;
  readonly #open: () => Promise<SignInLibrary>;
  readonly #hashing = new HashSemaphore();

  constructor(reader: Reader, open: () => Promise<SignInLibrary>) {
    this.#reader = reader;
    this.#open = open;
  }

  async hash(password: string): Promise<string> {
    const library = await this.#open();
    return await this.#hashing.run(() => library.hashPassword(password));
  }

  /** Null for an unknown address and for a wrong password. */
  async check(email: string, password: string): Promise<Checked | null> {
    const user = this.#reader.find(tables.auth, 'email', [emailKey(email)]);
    return await this.checkOf(user?.id ?? '', password);
  }

  /** The same for a person who is known already. */
  async checkOf(userId: string, password: string): Promise<Checked | null> {
    const library = await this.#open();
    const given = comparablePassword(password);
    const passwordHash = this.stored(userId);
    return await this.#hashing.run(async () => {
      if (passwordHash === null) {
        await library.hashPassword(given);
        return null;
      }
      const right = await library.isPassword(given, passwordHash);
      return right ? { userId, passwordHash } : null;
    });
  }

  /** The stored hash; null for a person without a password. */
  stored(userId: string): string | null {
    const stored = userId === '' ? undefined : credentialOf(this.#reader, userId);
    const password = stored?.fields['password'];
    return typeof password === 'string' && password !== '' ? password : null;
  }
}

const atOnceMax = 2;
const waitingMax = 100;

/**
 * Few hashes at once: each takes 32 MiB and a thread of the pool that file and name look-ups share.
 * Further ones wait in turn; when too many wait, the next is OVERLOADED.
 */
class HashSemaphore {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= atOnceMax) {
      if (this.#waiting.length >= waitingMax) {
        throw new ServiceError('OVERLOADED', 'Too many sign-ins at once.');
      }
      // The work that ends hands its place on, so `#running` stays as it is.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
