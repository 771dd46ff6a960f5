/** Owns what an app knows of its domains: the verified ones, which lead to it. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppHost, DomainRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

/** The primary first, then the oldest. */
export function hostsOf(reader: Reader, appId: string, nowMs: number): AppHost[] {
  const all = reader.list(tables.domains, 'app', [appId], { limit: Infinity });
  const verified = all.filter((domain) => domain.verifiedAtMs !== null);
  const first = verified.toSorted((a, b) => Number(b.isPrimary) - Number(a.isPrimary));
  return first.map((domain) => {
    const { host, redirectTo, status } = domain;
    // A redirect is remembered for long: none is made to where nobody answers.
    const target = verified.find((one) => one.host === redirectTo && one.status === 'active');
    return {
      host,
      ...(target && { redirectTo: target.host }),
      ...(status === 'active' && { isActive: true as const }),
      ...(isSecure(reader, domain, nowMs) && { hasCertificate: true as const }),
    };
  });
}

/** Whether it has a certificate that has not run out: else the edge serves it by HTTP alone. */
export function isSecure(
  reader: Reader,
  { certificateId: id }: Readonly<DomainRecord>,
  nowMs: number,
): boolean {
  const certificate = id === null ? undefined : reader.get(tables.certificates, id);
  return certificate !== undefined && certificate.notAfterMs > nowMs;
}
