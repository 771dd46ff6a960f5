/**
 * Owns the checking of passwords. Refusing an account that does not exist takes as long as refusing a
 * wrong password. `address` is who waits for it (`hashing-turns.ts`).
 */
import { credentialOf } from '../../actors/account/security.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import { HashingTurns } from './hashing-turns.ts';
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
  readonly #hashing = new HashingTurns();

  constructor(reader: Reader, open: () => Promise<SignInLibrary>) {
    this.#reader = reader;
    this.#open = open;
  }

  async hash(password: string, address: string): Promise<string> {
    const library = await this.#open();
    return await this.#hashing.run(address, () => library.hashPassword(password));
  }

  /** Null for an unknown address and for a wrong password. */
  async check(email: string, password: string, address: string): Promise<Checked | null> {
    const user = this.#reader.find(tables.auth, 'email', [emailKey(email)]);
    return await this.checkOf(user?.id ?? '', password, address);
  }

  /** The same for a person who is known already. */
  async checkOf(userId: string, password: string, address: string): Promise<Checked | null> {
    const library = await this.#open();
    const given = comparablePassword(password);
    const passwordHash = this.stored(userId);
    return await this.#hashing.run(address, async () => {
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
