/** Owns what becomes of a domain by its certificate: got by ACME, or refused. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { CertificateRecord, DomainRecord } from '../../store/records/records.ts';
import { type Change, insert, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { withCertificate } from './uploaded-certificates.ts';

/** Null where the certificate is no use: the domain is another, or has one that somebody uploaded. */
export function certified(
  reader: Reader,
  domain: Readonly<DomainRecord> | undefined,
  certificate: CertificateRecord,
): Change[] | null {
  if (domain === undefined || domain.verifiedAtMs === null) return null;
  if (!certificate.names.includes(domain.host)) return null;
  const { id, certificateId } = domain;
  const had = certificateId === null ? undefined : reader.get(tables.certificates, certificateId);
  if (had?.managed === false) return null;
  return [
    insert(tables.certificates, certificate),
    put(tables.domains, withCertificate(domain, certificate.id)),
    remove(tables.certificateOrders, id),
    ...(had === undefined ? [] : [remove(tables.certificates, had.id)]),
  ];
}

/** One that works goes on working, with the reason why it will not for ever. */
export function uncertified(
  domain: Readonly<DomainRecord> | undefined,
  error: string,
  isRefused: boolean,
): Change[] {
  if (domain === undefined || domain.verifiedAtMs === null) return [];
  const status = isRefused && domain.status === 'issuing' ? 'failed' : domain.status;
  if (status === domain.status && error === domain.error) return [];
  return [put(tables.domains, { ...domain, status, error })];
}
