/** Owns one question from its first request to its outcome: within a deadline, and never rejected. */
import { AddressPolicy } from '../../lib/address-policy.ts';
import { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { FoundBy, Outcome, Question, RegistryCall } from '../questions.ts';
import { JsonSource, SourceFailure } from './json-source.ts';
import { lookUp } from './look-up.ts';

const trusted = new GuardedFetch({
  policy: { admit: () => 'private', rules: { privateNetworks: [], ownPorts: [] } },
});

export async function askRegistry(call: RegistryCall): Promise<Outcome<FoundBy[Question['kind']]>> {
  const { question, sources, rules, deadlineMs } = call;
  const over = new AbortController();
  const late = setTimeout(() => over.abort(), deadlineMs);
  const policy = new AddressPolicy({ ...rules, ownPorts: () => rules.ownPorts });
  const source = new JsonSource({
    trusted,
    guarded: new GuardedFetch({ policy }),
    trustedOrigins: new Set(
      Object.values(sources).flatMap((url: string | null) => (url ? [new URL(url).origin] : [])),
    ),
    signal: over.signal,
  });
  try {
    const found = await lookUp(source, sources, question);
    return { kind: 'found', found, holdMs: source.holdMs };
  } catch (error) {
    if (error instanceof SourceFailure && error.kind !== 'failed') return { kind: error.kind };
    const holdMs = error instanceof SourceFailure ? error.holdMs : source.holdMs;
    const why = over.signal.aborted ? 'It took too long to answer.' : (error as Error).message;
    return { kind: 'failed', why, holdMs };
  } finally {
    clearTimeout(late);
    // What still waits for an answer, such as a page nobody needs any more.
    over.abort();
  }
}
