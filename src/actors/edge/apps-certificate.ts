/**
 * Owns where the certificate is stored that serves the names which apps have from Gangway: one wildcard, got by ACME. It is
 * no domain's, so it is found by the name that it is for.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';

/** Of the certificate, and of the order of it. Another name has another. */
export function appsCertificateId(wildcard: string): string {
  return `apps:${wildcard}`;
}

/** `wildcard`: null where none is ordered; then one from before is not served either. */
export function hasAppsCertificate(reader: Reader, wildcard: string | null): boolean {
  if (wildcard === null) return false;
  return reader.get(tables.certificates, appsCertificateId(wildcard)) !== undefined;
}
