/**
 * Owns answers that may be sent again unchanged: to the same principal, for the same request, while nothing
 * was written in between.
 *
 * 1. All answers are forgotten as soon as the journal has a newer position.
 * 2. Their bytes are limited. At the limit all answers are dropped, as the next write would do anyway.
 * 3. An answer is kept when its request comes for the second time, because most requests come once.
 */
import { callerOf, type Principal } from '../../auth/callers/principal.ts';
import { hashOfText, SeenBefore } from './seen-before.ts';

/** Memory of an entry besides its texts. */
const entryBytes = 256;

export class AnswerReuse {
  readonly #answers = new Map<string, Uint8Array>();
  readonly #seen = new SeenBefore();
  readonly #bytesMax: number;
  #bytes = 0;
  #position = -1;

  /** With `bytesMax` 0 nothing is kept. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(principal: Principal, request: Buffer, position: number): Uint8Array | undefined {
    this.#at(position);
    return this.#answers.size === 0 ? undefined : this.#answers.get(keyOf(principal, request));
  }

  /** Keeps a copy of an answer that was read at `position`. Does nothing when more was written since. */
  keep(
    principal: Principal,
    request: Buffer,
    answer: Uint8Array,
    position: number,
    now: number,
  ): void {
    // The limit for one answer: a few large ones must not push out all others.
    if (position !== now || answer.length > this.#bytesMax / 16) return;
    this.#at(now);
    const key = keyOf(principal, request);
    if (!this.#seen.note(hashOfText(key)) || this.#answers.has(key)) return;
    const bytes = key.length + answer.length + entryBytes;
    if (this.#bytes + bytes > this.#bytesMax) this.#forget();
    // A view is only lent, and may keep the memory of a whole batch alive.
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

/**
 * The key of caller and request. It names the session, not the person: a list of sessions marks the
 * caller's own.
 */
function keyOf(principal: Principal, request: Buffer): string {
  const text = request.toString('latin1');
  if (principal.kind === 'anonymous') return '\n' + text;
  const { userId, teamId, confined } = principal;
  const how = confined === true ? ' confined\n' : '\n';
  return callerOf(principal) + userId + String(teamId) + how + text;
}
