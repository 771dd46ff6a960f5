/**
 * Owns what becomes of a verified domain when its DNS is looked at again.
 *
 * 1. It is its team's as long as its proof is there, or one of a domain above it, or it leads here.
 * 2. Where nothing of that holds for a week, it is a claim again, which leads nowhere. Until then people are told.
 * 3. A look that a resolver did not answer says nothing: it takes no shop off the net.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DnsEntry, DomainRecord } from '../../store/records/records.ts';
import { isProven } from './claims.ts';
import type { DnsSeen } from './dns-looks.ts';

const hourMs = 60 * 60_000;
export const lookAgainMs = 24 * hourMs;
const graceMs = 7 * lookAgainMs;

/** `records`: as they were found by this look. */
export function lookedAtAgain(
  reader: Reader,
  domain: Readonly<DomainRecord>,
  { seen, records, nowMs }: { seen: DnsSeen; records: DnsEntry[]; nowMs: number },
): DomainRecord {
  const { host, lostAtMs = null } = domain;
  const { own, addresses, aliases, texts } = seen;
  if (own === null || addresses === null || aliases === null || texts === null) {
    return { ...domain, records, nextTryAtMs: nowMs + hourMs };
  }
  const next = { ...domain, records, nextTryAtMs: nowMs + lookAgainMs };
  const leadsHere = records.some(({ type, found }) => type !== 'TXT' && found);
  if (leadsHere || isProven(reader, domain, texts)) {
    return lostAtMs === null ? next : { ...next, lostAtMs: null, error: null };
  }
  const sinceMs = lostAtMs ?? nowMs;
  if (nowMs - sinceMs < graceMs) {
    const lastDay = new Date(sinceMs + graceMs).toISOString().slice(0, 10);
    const what = `${host} leads elsewhere, and its TXT record is gone`;
    return { ...next, lostAtMs: sinceMs, error: `${what}. On ${lastDay} its team loses it.` };
  }
  return {
    ...{ ...next, verifiedAtMs: null, status: 'failed', lostAtMs: null, nextTryAtMs: null },
    error: `${host} led elsewhere for a week, and its TXT record was gone: it is not served any more.`,
  };
}
