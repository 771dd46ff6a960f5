/**
 * Owns what the edge is given of certificates. It follows from the store alone.
 *
 * A certificate may name hosts of others. It is served for the verified domains that it was brought for, and for
 * nothing else; that of the names of apps for the wildcard above them, and that of the panel for its host, which has no other.
 */
import type { EdgeCertificate } from '../../protocol/workload.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../../store/secrets.ts';
import { appsCertificateId, panelCertificateId } from './apps-certificate.ts';

/** What the key of a stored certificate is sealed with. */
export function certificateKeyContext(certificateId: string): string {
  return `certificate:${certificateId}`;
}

/** What certificates of the instance itself are ordered for; null: none is. */
export interface InstanceHosts {
  /** Serves the names of apps. */
  appsWildcard: string | null;
  panelHost: string | null;
}

export function edgeCertificates(
  reader: Reader,
  secrets: Pick<SecretBox, 'open'>,
  { appsWildcard, panelHost }: InstanceHosts,
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
  if (panelHost !== null) serve(panelHost, panelCertificateId(panelHost));
  for (const { host, certificateId, verifiedAtMs } of reader.scan(tables.domains)) {
    if (host === panelHost) continue;
    if (certificateId !== null && verifiedAtMs !== null) serve(host, certificateId);
  }
  return certificates;
}
