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
  const own = [
    ...(appsWildcard === null ? [] : [{ host: appsWildcard, id: appsCertificateId(appsWildcard) }]),
    ...(panelHost === null ? [] : [{ host: panelHost, id: panelCertificateId(panelHost) }]),
  ];
  const domains = servedDomains(reader).filter(({ host }) => host !== panelHost);
  return opened(reader, secrets, [...own, ...domains]);
}

/** Another server gets those of its own apps, and no other's key. */
export function certificatesOfServer(
  reader: Reader,
  secrets: Pick<SecretBox, 'open'>,
  serverId: string,
): EdgeCertificate[] {
  const isThere = ({ appId }: Served): boolean =>
    appId !== undefined && reader.get(tables.apps, appId)?.serverId === serverId;
  return opened(reader, secrets, servedDomains(reader).filter(isThere));
}

interface Served {
  host: string;
  /** Of the certificate. */
  id: string;
  appId?: string;
}

function servedDomains(reader: Reader): Served[] {
  return [...reader.scan(tables.domains)].flatMap(({ host, appId, certificateId, verifiedAtMs }) =>
    certificateId !== null && verifiedAtMs !== null ? [{ host, appId, id: certificateId }] : [],
  );
}

function opened(
  reader: Reader,
  secrets: Pick<SecretBox, 'open'>,
  served: readonly Served[],
): EdgeCertificate[] {
  return served.flatMap(({ host, id }) => {
    const certificate = reader.get(tables.certificates, id);
    if (certificate === undefined) return [];
    const { chain, key } = certificate;
    return [{ names: [host], chain, key: secrets.open(key, certificateKeyContext(id)) }];
  });
}
