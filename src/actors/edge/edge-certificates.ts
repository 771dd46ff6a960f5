/**
 * Owns what the edge is given of certificates. It follows from the store alone.
 *
 * A certificate may name hosts of others. It is served for the verified domains that it was brought for, and for
 * nothing else.
 */
import type { EdgeCertificate } from '../../protocol/workload.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../../store/secrets.ts';

/** What the key of a stored certificate is sealed with. */
export function certificateKeyContext(certificateId: string): string {
  return `certificate:${certificateId}`;
}

export function edgeCertificates(
  reader: Reader,
  secrets: Pick<SecretBox, 'open'>,
): EdgeCertificate[] {
  const certificates: EdgeCertificate[] = [];
  for (const { host, certificateId, verifiedAtMs } of reader.scan(tables.domains)) {
    if (certificateId === null || verifiedAtMs === null) continue;
    const certificate = reader.get(tables.certificates, certificateId);
    if (certificate === undefined) continue;
    const { id, chain, key } = certificate;
    const opened = secrets.open(key, certificateKeyContext(id));
    certificates.push({ names: [host], chain, key: opened });
  }
  return certificates;
}
