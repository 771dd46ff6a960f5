/**
 * Owns answers that may be given again as they are: to the same principal, for the same request, as
 * long as nothing at all was written since.
 *
 * 1. Everything is forgotten as soon as the journal has a newer position.
 * 2. Bounded by bytes; when they are full everything goes, which the next write would do anyway.
 * 3. Requests are compared byte by byte; the hash that finds them looks at some of the bytes only.
 * 4. An answer is kept when its request comes again: most that come once never do.
 */
import { callerOf, type Principal } from '../../auth/callers/principal.ts';
import { SeenBefore } from './seen-before.ts';

interface Kept {
  principal: Principal;
  request: Uint8Array;
  answer: Uint8Array;
}

/** Answers with one hash. */
const chainMax = 4;
const sampledBytes = 64;
/** The end is looked at whole: it is where variables stand. */
const tailBytes = 32;

export class AnswerReuse {
  readonly #chains = new Map<number, Kept[]>();
  readonly #seen = new SeenBefore();
  readonly #bytesMax: number;
  #bytes = 0;
  #position = -1;

  /** `bytesMax` 0 keeps nothing. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(principal: Principal, request: Uint8Array, position: number): Uint8Array | undefined {
    this.#at(position);
    return this.#find(hashOf(principal, request), principal, request)?.answer;
  }

  /** Keeps an answer that was asked for at `position`; too late, when more was written since. Copies. */
  keep(
    principal: Principal,
    request: Uint8Array,
    answer: Uint8Array,
    position: number,
    now: number,
  ): void {
    // What one answer may take: a few large ones must not push out all others.
    if (position !== now || answer.length > this.#bytesMax / 16) return;
    this.#at(now);
    const hash = hashOf(principal, request);
    if (!this.#seen.note(hash) || this.#find(hash, principal, request) !== undefined) return;
    // Both are lent, and a view may hold a whole batch alive.
    const kept = { principal, request: Uint8Array.from(request), answer: Uint8Array.from(answer) };
    if (this.#bytes + sizeOf(kept) > this.#bytesMax) this.#forget();
    const chain = this.#chains.get(hash);
    if (chain === undefined) this.#chains.set(hash, [kept]);
    else chain.push(kept);
    this.#bytes += sizeOf(kept);
    if (chain === undefined || chain.length <= chainMax) return;
    const oldest = chain.shift();
    if (oldest !== undefined) this.#bytes -= sizeOf(oldest);
  }

  #find(hash: number, principal: Principal, request: Uint8Array): Kept | undefined {
    const chain = this.#chains.get(hash);
    if (chain === undefined) return undefined;
    for (const kept of chain) {
      if (isSame(kept.principal, principal) && Buffer.compare(kept.request, request) === 0) {
        return kept;
      }
    }
    return undefined;
  }

  #at(position: number): void {
    if (position === this.#position) return;
    this.#position = position;
    if (this.#chains.size > 0) this.#forget();
  }

  #forget(): void {
    this.#chains.clear();
    this.#bytes = 0;
  }
}

/** About what one takes in memory. */
function sizeOf({ request, answer }: Kept): number {
  return request.length + answer.length + 256;
}

/** Whether two principals would be answered alike: a list of sessions tells which one is asking. */
function isSame(one: Principal, other: Principal): boolean {
  if (one === other) return true;
  if (one.kind === 'anonymous' || other.kind === 'anonymous') return one.kind === other.kind;
  if (one.userId !== other.userId || one.teamId !== other.teamId) return false;
  if (one.confined !== other.confined) return false;
  return one.kind === other.kind && callerOf(one) === callerOf(other);
}

/** Of the length, some bytes of the request and its last ones, and the end of who asks. */
function hashOf(principal: Principal, request: Uint8Array): number {
  let hash = request.length;
  const step = Math.ceil(request.length / sampledBytes) || 1;
  for (let i = 0; i < request.length; i += step) {
    hash = (Math.imul(hash, 31) + (request[i] ?? 0)) | 0;
  }
  for (let i = Math.max(0, request.length - tailBytes); i < request.length; i++) {
    hash = (Math.imul(hash, 31) + (request[i] ?? 0)) | 0;
  }
  const id = callerOf(principal);
  for (let i = Math.max(0, id.length - 8); i < id.length; i++) {
    hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0;
  }
  return hash;
}
