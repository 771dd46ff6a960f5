/**
 * Owns answers that may be given again as they are: to the same principal, for the same request, as
 * long as nothing at all was written since.
 *
 * 1. Everything is forgotten as soon as the journal has a newer position.
 * 2. Bounded by bytes; when they are full everything goes, which the next write would do anyway.
 * 3. An answer is kept when its request comes again: most that come once never do.
 */
import { callerOf, type Principal } from '../../auth/callers/principal.ts';
import { hashOfText, SeenBefore } from './seen-before.ts';

/** What an entry takes besides its texts. */
const entryBytes = 256;

export class AnswerReuse {
  readonly #answers = new Map<string, Uint8Array>();
  readonly #seen = new SeenBefore();
  readonly #bytesMax: number;
  #bytes = 0;
  #position = -1;

  /** `bytesMax` 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(principal: Principal, request: Buffer, position: number): Uint8Array | undefined {
    this.#at(position);
    return this.#answers.size === 0 ? undefined : this.#answers.get(keyOf(principal, request));
  }

  /** Keeps an answer that was asked for at `position`; too late, when more was written since. Copies. */
  keep(
    principal: Principal,
    request: Buffer,
    answer: Uint8Array,
    position: number,
    now: number,
  ): void {
    // What one answer may take: a few large ones must not push out all others.
    if (position !== now || answer.length > this.#bytesMax / 16) return;
    this.#at(now);
    const key = keyOf(principal, request);
    if (!this.#seen.note(hashOfText(key)) || this.#answers.has(key)) return;
    const bytes = key.length + answer.length + entryBytes;
    if (this.#bytes + bytes > this.#bytesMax) this.#forget();
    // A view may hold a whole batch alive, and is lent.
    this.#answers.set(key, Uint8Array.from(answer));
    this.#bytes += bytes;
  }

  #at(position: number): void {
    if (position === this.#position) return;
    this.#position = position;
    if (this.#answers.size > 0) this.#forget();
  }

  #forget(): void {
    this.#answers.clear();
    this.#bytes = 0;
  }
}

/** Who asks for what. By session, not by person: a list of sessions tells which one is asking. */
function keyOf(principal: Principal, request: Buffer): string {
  const text = request.toString('latin1');
  if (principal.kind === 'anonymous') return '\n' + text;
  const { userId, teamId, confined } = principal;
  const how = confined === true ? ' confined\n' : '\n';
  return callerOf(principal) + userId + String(teamId) + how + text;
}
