/**
 * Owns what public registries answered: kept for a while in the store, looked up anew when that is over.
 *
 * 1. An answer of less than 15 minutes is the answer. An older one is, too, while it is looked up anew behind it; one
 *    of more than 7 days only where no newer one is to be had.
 * 2. One question is under way once, however many wait for it, and so many questions at a time.
 * 3. A source that failed, or wants to be left alone, is not asked again before that is over.
 */
import { type Clock, systemClock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { LookupRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';
import {
  type FoundBy,
  keyOf,
  originOf,
  type Outcome,
  type Question,
  type Sources,
} from './questions.ts';

export type AskRegistry = (question: Question) => Promise<Outcome<FoundBy[Question['kind']]>>;

export interface KeptAnswersOptions {
  ask: AskRegistry;
  sources: Sources;
  reader: Reader;
  /** Resolves when the record is stored. */
  keep: (record: LookupRecord) => Promise<unknown>;
  logger: Pick<Logger, 'warn'>;
  clock?: Clock;
}

export type Answer<T> =
  | { kind: 'found'; found: T; from: 'live' | 'kept'; fetchedAtMs: number }
  | { kind: 'none' | 'refused' }
  | { kind: 'failed'; retryAfterMs: number };

type Kind = Question['kind'];

const freshMs = 15 * 60_000;
const staleMaxMs = 7 * 24 * 3_600_000;
const pauseMs = 60_000;
const underWayMax = 16;

/** What was answered when there was nothing to keep. */
interface Miss {
  kind: 'none' | 'refused' | 'failed';
  untilMs: number;
}

export class KeptAnswers {
  readonly #options: KeptAnswersOptions;
  readonly #clock: Clock;
  readonly #underWay = new Map<string, Promise<Answer<FoundBy[Kind]>>>();
  readonly #misses = new RecentMap<Miss>(500);
  /** By origin: until when it is left alone. */
  readonly #held = new RecentMap<number>(200);

  constructor(options: KeptAnswersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Whether the question is answered without asking anybody. */
  isKept(question: Question): boolean {
    const kept = this.#kept(keyOf(question));
    return kept !== undefined && this.#clock.now() - kept.fetchedAtMs < staleMaxMs;
  }

  /** Rejects with OVERLOADED. */
  async get<Q extends Question>(question: Q): Promise<Answer<FoundBy[Q['kind']]>> {
    const key = keyOf(question);
    const kept = this.#kept(key);
    const ageMs = kept === undefined ? Infinity : this.#clock.now() - kept.fetchedAtMs;
    if (kept !== undefined && ageMs < freshMs) return answerOf(kept);
    const asked = this.#asked(key, question);
    if (kept !== undefined && ageMs < staleMaxMs) {
      // Nobody waits for it: a failure changes nothing.
      asked.catch(() => undefined);
      return answerOf(kept);
    }
    const answer = (await asked) as Answer<FoundBy[Q['kind']]>;
    return answer.kind === 'failed' && kept !== undefined ? answerOf(kept) : answer;
  }

  #kept(key: string): Readonly<LookupRecord> | undefined {
    return this.#options.reader.get(tables.lookups, key);
  }

  async #asked(key: string, question: Question): Promise<Answer<FoundBy[Kind]>> {
    const there = this.#underWay.get(key);
    if (there !== undefined) return there;
    const miss = this.#missOf(key, question);
    if (miss !== null) return miss;
    if (this.#underWay.size >= underWayMax) {
      throw new ServiceError('OVERLOADED', 'Too much is looked up at a time. Try again soon.');
    }
    const asking = this.#ask(key, question);
    this.#underWay.set(key, asking);
    try {
      return await asking;
    } finally {
      this.#underWay.delete(key);
    }
  }

  #missOf(key: string, question: Question): Answer<never> | null {
    const nowMs = this.#clock.now();
    const origin = originOf(question, this.#options.sources);
    if (origin === null) return { kind: 'failed', retryAfterMs: pauseMs };
    const heldMs = (this.#held.get(origin) ?? 0) - nowMs;
    if (heldMs > 0) return { kind: 'failed', retryAfterMs: heldMs };
    const miss = this.#misses.get(key);
    if (miss === undefined || miss.untilMs <= nowMs) return null;
    return missed(miss.kind, miss.untilMs - nowMs);
  }

  async #ask(key: string, question: Question): Promise<Answer<FoundBy[Kind]>> {
    const outcome = await this.#outcome(question);
    const nowMs = this.#clock.now();
    if ('holdMs' in outcome && outcome.holdMs > 0) {
      this.#held.set(originOf(question, this.#options.sources) ?? '', nowMs + outcome.holdMs);
    }
    if (outcome.kind === 'found') {
      this.#misses.delete(key);
      const { found } = outcome;
      await this.#options.keep({ id: key, fetchedAtMs: nowMs, found: JSON.stringify(found) });
      return { kind: 'found', found, from: 'live', fetchedAtMs: nowMs };
    }
    if (outcome.kind === 'failed') {
      this.#options.logger.warn({ question: question.kind, why: outcome.why }, 'registry_failed');
    }
    const waitMs = Math.max(pauseMs, 'holdMs' in outcome ? outcome.holdMs : 0);
    this.#misses.set(key, { kind: outcome.kind, untilMs: nowMs + waitMs });
    return missed(outcome.kind, waitMs);
  }

  async #outcome(question: Question): Promise<Outcome<FoundBy[Kind]>> {
    try {
      return await this.#options.ask(question);
    } catch (error) {
      // Whatever it was that a registry sent, it ended the thread that read it.
      return { kind: 'failed', why: (error as Error).message, holdMs: 0 };
    }
  }
}

function missed(kind: Miss['kind'], waitMs: number): Answer<never> {
  return kind === 'failed' ? { kind, retryAfterMs: waitMs } : { kind };
}

/** What was stored was checked before. */
function answerOf<T>({ found, fetchedAtMs }: Readonly<LookupRecord>): Answer<T> {
  return { kind: 'found', found: JSON.parse(found) as T, from: 'kept', fetchedAtMs };
}
