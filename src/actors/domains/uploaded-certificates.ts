/** Owns what becomes of domains, and of certificates that people brought for them, when either changes. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DomainRecord } from '../../store/records/records.ts';
import { type Change, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';

/** A domain that waited for a certificate, or got none, is active. */
export function withCertificate(
  domain: Readonly<DomainRecord>,
  certificateId: string,
): DomainRecord {
  if (domain.verifiedAtMs === null) return { ...domain, certificateId };
  return { ...domain, certificateId, status: 'active', error: null };
}

/** Tells people of a certificate that was uploaded and has run out, since none is got in its place. */
export function toldOfEnd(reader: Reader, domain: DomainRecord, nowMs: number): DomainRecord {
  const { certificateId: id, lostAtMs = null } = domain;
  const had = id === null ? undefined : reader.get(tables.certificates, id);
  if (had?.managed !== false || had.notAfterMs > nowMs || lostAtMs !== null) return domain;
  const lastDay = new Date(had.notAfterMs).toISOString().slice(0, 10);
  return { ...domain, error: `Its own certificate ran out on ${lastDay}: upload another one.` };
}

/** Takes away what was uploaded for the domains. What was issued is its authority's to take back. */
export function uploadedOf(reader: Reader, domains: readonly Readonly<DomainRecord>[]): Change[] {
  return domains.flatMap(({ certificateId: id }) => {
    const had = id === null ? undefined : reader.get(tables.certificates, id);
    return had?.managed === false ? [take(tables.certificates, had.id)] : [];
  });
}
