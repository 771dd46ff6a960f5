/**
 * Owns what the edge is given of certificates. It follows from the store alone.
 *
 * A certificate may name hosts of others. It is served for the verified domains that it was brought for, and for
 * nothing else; that of the names of apps for the wildcard above them.
 */
import type { EdgeCertificate } from '../../protocol/workload.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { appsCertificateId } from './apps-certificate.ts';

/** What the key of a stored certificate is sealed with. */
export function certificateKeyContext(certificateId: string): string {
  return `certificate:${certificateId}`;
}

/** `appsWildcard`: what a certificate is ordered for that serves the names of apps; null: none is. */
export function edgeCertificates(
  reader: Reader,
  secrets: Pick<SecretBox, 'open'>,
  appsWildcard: string | null,
): EdgeCertificate[] {
  const certificates: EdgeCertificate[] = [];
  const serve = (host: string, certificateId: string): void => {
    const certificate = reader.get(tables.certificates, certificateId);
    if (certificate === undefined) return;
    const { id, chain, key } = certificate;
    const opened = secrets.open(key, certificateKeyContext(id));
    certificates.push({ names: [host], chain, key: opened });
  };
  if (appsWildcard !== null) serve(appsWildcard, appsCertificateId(appsWildcard));
  for (const { host, certificateId, verifiedAtMs } of reader.scan(tables.domains)) {
    if (certificateId !== null && verifiedAtMs !== null) serve(host, certificateId);
  }
  return certificates;
}
