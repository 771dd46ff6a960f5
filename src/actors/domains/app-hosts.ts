/** Owns what an app knows of its domains: the verified ones, which lead to it. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppHost } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

/** The primary first, then the oldest. */
export function hostsOf(reader: Reader, appId: string): AppHost[] {
  const all = reader.list(tables.domains, 'app', [appId], { limit: Infinity });
  const verified = all.filter((domain) => domain.verifiedAtMs !== null);
  const first = verified.toSorted((a, b) => Number(b.isPrimary) - Number(a.isPrimary));
  return first.map(({ host, redirectTo, status, certificateId }) => {
    // A redirect is remembered for long: none is made to where nobody answers.
    const target = verified.find((one) => one.host === redirectTo && one.status === 'active');
    return {
      host,
      ...(target && { redirectTo: target.host }),
      ...(status === 'active' && { isActive: true as const }),
      ...(certificateId !== null && { hasCertificate: true as const }),
    };
  });
}
