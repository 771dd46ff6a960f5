/**
 * Owns the words of a server that failed, as the end of a sentence for people: a line of its log, or its
 * answer.
 *
 * 1. The text holds no password of the database and no control character, and has 300 characters at most.
 * 2. Only words since a given time count: an older complaint has another cause.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseCore } from '../core.ts';
import { ServerRefusal } from '../engines/engine.ts';
import { openAll } from '../settings/secrets.ts';

/** Words within this time before an end belong to it. */
export const justBeforeMs = 10_000;
const linesMax = 200;
const textMax = 300;
/** The last output of a program may arrive after the news of its end. */
const waitsMs = [0, 100, 200, 400, 800];
const hidden = '••••••••';

/** ` It said: ….`, or '' when the server wrote nothing since then. */
export async function saidSince(
  core: DatabaseCore,
  workloadId: string,
  sinceMs: number,
  signal: AbortSignal,
): Promise<string> {
  let last = '';
  const output = { isAll: false };
  core.care.settled(workloadId, signal).then(
    () => {
      output.isAll = true;
    },
    () => undefined,
  );
  for (const waitMs of waitsMs) {
    // The output is complete, so waiting is pointless.
    if (waitMs > 0 && output.isAll) break;
    await sleep(waitMs, undefined, { signal });
    const lines = linesSince(core, sinceMs);
    const { complaint } = core.engine;
    for (const line of lines) {
      const found = complaint.exec(line)?.groups?.['text'];
      if (found !== undefined) return sentence(core, found);
    }
    last = lines.at(-1) ?? '';
  }
  return last === '' ? '' : sentence(core, last);
}

/** The words in an error that a call to the server rejected with, as `saidSince`. */
export function saidIn(core: DatabaseCore, thrown: unknown): string {
  const words = wordsOf(thrown);
  return words === null ? '' : sentence(core, words);
}

function wordsOf(thrown: unknown): string | null {
  if (thrown instanceof ServerRefusal) return thrown.message;
  const { severity, message } = thrown as { severity?: unknown; message?: unknown };
  // A message of PostgreSQL's own protocol. Other errors are not the server's words.
  if (typeof severity === 'string' && typeof message === 'string') return message;
  const { cause } = thrown as { cause?: unknown };
  return cause === undefined || cause === null ? null : wordsOf(cause);
}

function linesSince({ deps, id }: DatabaseCore, sinceMs: number): string[] {
  const { reader } = deps.streams;
  const log = `db:${id}` as const;
  const range = reader.range(log);
  if (range === undefined) return [];
  const from = Math.max(range.firstOffset, range.nextOffset - linesMax);
  return reader
    .read(log, from, linesMax)
    .lines.filter(({ atMs, stream }) => atMs >= sinceMs && stream !== 'system')
    .map(({ bytes }) => Buffer.from(bytes).toString('utf8').trim())
    .filter((line) => line !== '');
}

function sentence(core: DatabaseCore, text: string): string {
  const plain = withoutSecrets(core, text)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  const cut = plain.length > textMax ? `${plain.slice(0, textMax)}…` : plain;
  return ` It said: ${cut}${/[.!?…]$/.test(cut) ? '' : '.'}`;
}

/** The text without the passwords of the database, both plain and quoted as in statements. */
export function withoutSecrets({ deps, record }: DatabaseCore, text: string): string {
  if (record === null) return text;
  const { own, admin } = openAll(deps.secrets, record);
  return [...own, admin]
    .flatMap((secret) => [
      secret,
      secret.replaceAll(/['"\\]/g, '\\$&'),
      secret.replaceAll("'", "''"),
    ])
    .reduce((so, secret) => so.replaceAll(secret, hidden), text);
}
