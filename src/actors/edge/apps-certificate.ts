/**
 * Owns where the certificates of the instance itself are stored, got by ACME: one wildcard that serves the names which apps have
 * from Gangway, and one for the panel. They are no domain's, so they are found by the name that they are for.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';

/** Of the certificate, and of the order of it. Another name has another. */
export function appsCertificateId(wildcard: string): string {
  return `apps:${wildcard}`;
}

/** The same for the panel. */
export function panelCertificateId(host: string): string {
  return `panel:${host}`;
}

/** `wildcard`: null where none is ordered; then one from before is not served either. */
export function hasAppsCertificate(reader: Reader, wildcard: string | null): boolean {
  if (wildcard === null) return false;
  return reader.get(tables.certificates, appsCertificateId(wildcard)) !== undefined;
}
