/**
 * Owns the second factor: time-based codes (RFC 6238: SHA-1, 6 digits, 30 s, one step early or late)
 * and recovery codes.
 *
 * 1. A code is good once. Before the answer, the store has its time step and every earlier one as used;
 *    a recovery code is removed.
 * 2. The secret is stored sealed. It and the recovery codes are shown once, when enrolment starts.
 * 3. An enrolment has no effect until its first code, for which it waits 15 minutes.
 * 4. After ten wrong codes for a person within 15 minutes, no further code is accepted. Only who knows
 *    the password gets to try.
 */
import { Secret, TOTP } from 'otpauth';
import { accountActor, directory, type TwoFactorProof } from '../../actors/account/protocol.ts';
import { isOpen } from '../../actors/account/security.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { TwoFactorRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { tables } from '../../store/records/tables.ts';
import type { User } from '../callers/account-reads.ts';
import { AttemptLimits } from './attempt-limits.ts';
import { newRecoveryCodes, recoveryHash } from './typed-codes.ts';

export interface TwoFactorOptions {
  reader: Reader;
  actors: Actors;
  clock: Clock;
  secrets: SecretBox;
}

/** What a person typed: a code of the authenticator app, a recovery code, or either. */
export interface GivenCode {
  code: string;
  kind: 'app' | 'recovery' | 'either';
}

const issuer = 'Gangway';
const period = 30;
const parameters = { algorithm: 'SHA1', digits: 6, period } as const;
const window = 1;
const secretBytes = 20;

export class TwoFactor {
  readonly #options: TwoFactorOptions;
  readonly #limits: AttemptLimits;
  readonly #recoveryKey: Buffer;

  constructor(options: TwoFactorOptions) {
    this.#options = options;
    this.#limits = new AttemptLimits(options.clock);
    this.#recoveryKey = options.secrets.derive('recovery-codes');
  }

  /** Begins an enrolment, which replaces an unconfirmed one. CONFLICT when two-factor is on. */
  async start(user: User): Promise<{ uri: string; recoveryCodes: string[] }> {
    const secret = new Secret({ size: secretBytes });
    const enrolment = newId('tfa', this.#options.clock.now());
    const recoveryCodes = newRecoveryCodes();
    await this.#options.actors.ask(accountActor.at(directory), {
      type: 'two-factor-start',
      userId: user.id,
      enrolment,
      sealed: this.#options.secrets.seal(secret.bytes, sealContext(user.id, enrolment)),
      recoveryHashes: recoveryCodes.map((code) => recoveryHash(this.#recoveryKey, user.id, code)),
    });
    const uri = new TOTP({ issuer, label: user.email, secret, ...parameters }).toString();
    return { uri, recoveryCodes };
  }

  /** Turns it on. CONFLICT without an open enrolment, BAD_USER_INPUT for a wrong code. */
  async confirm(userId: string, code: string): Promise<void> {
    const { reader, actors, clock } = this.#options;
    const confirmed = await this.#limits.run(`enrol ${userId}`, '', async () => {
      const record = reader.get(tables.twoFactor, userId);
      if (!record || !isOpen(record, clock.now())) {
        throw new ServiceError('CONFLICT', 'Start enrolling first, and confirm in 15 minutes.');
      }
      const step = this.#stepOf(record, code);
      if (step === null) return false;
      const { enrolment } = record;
      const message = { type: 'two-factor-confirm', userId, enrolment, step } as const;
      return await actors.ask(accountActor.at(directory), message);
    });
    if (!confirmed) throw new ServiceError('BAD_USER_INPUT', 'The code is wrong.');
  }

  /** Uses a code up, and with `end` turns two-factor off. False for a wrong or used code. */
  async use(userId: string, given: GivenCode, end: boolean): Promise<boolean> {
    return await this.#limits.run(userId, '', async () => {
      const proof = this.#proofOf(userId, given);
      if (proof === null) return false;
      const message = { type: 'two-factor-use', userId, proof, end } as const;
      return await this.#options.actors.ask(accountActor.at(directory), message);
    });
  }

  #proofOf(userId: string, { code, kind }: GivenCode): TwoFactorProof | null {
    const isCode = kind === 'app' || (kind === 'either' && digitsOf(code) !== null);
    if (!isCode) return { kind: 'recovery', hash: recoveryHash(this.#recoveryKey, userId, code) };
    const record = this.#options.reader.get(tables.twoFactor, userId);
    const step = record ? this.#stepOf(record, code) : null;
    return record && step !== null ? { kind: 'step', enrolment: record.enrolment, step } : null;
  }

  /** The time step that a code belongs to; null when it is not a present one. */
  #stepOf({ userId, enrolment, sealed }: Readonly<TwoFactorRecord>, code: string): number | null {
    const token = digitsOf(code);
    if (token === null) return null;
    const bytes = this.#options.secrets.openBytes(sealed, sealContext(userId, enrolment));
    const secret = new Secret({ buffer: new Uint8Array(bytes).buffer });
    const timestamp = this.#options.clock.now();
    const delta = TOTP.validate({ token, secret, timestamp, window, ...parameters });
    return delta === null ? null : TOTP.counter({ period, timestamp }) + delta;
  }
}

/** Apps show a code in groups of digits, and people type it in groups. */
function digitsOf(code: string): string | null {
  const plain = code.slice(0, 100).replace(/\s/g, '');
  return /^[0-9]{6}$/.test(plain) ? plain : null;
}

function sealContext(userId: string, enrolment: string): string {
  return `two-factor:${userId}:${enrolment}`;
}
