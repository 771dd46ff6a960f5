/** Owns the addresses that people open an app at. */
import type { AppRecord } from '../../store/records/records.ts';

export interface EdgeAddress {
  /** Apps have names below it. */
  appsDomain: string;
  edgePort: number;
  /** Null: nothing is served over HTTPS. */
  edgeTlsPort: number | null;
}

/** Whether anything answers there says the app's status. The primary domain first, Gangway's own name last. */
export function urlsOf(
  { slug, hosts = [] }: Pick<AppRecord, 'slug' | 'hosts'>,
  { appsDomain, edgePort, edgeTlsPort }: EdgeAddress,
): [string, ...string[]] {
  const domains = hosts.filter(
    ({ host, redirectTo, isActive }) =>
      isActive === true && redirectTo === undefined && !host.startsWith('*.'),
  );
  const own = origin('http', `${slug}.${appsDomain}`, edgePort);
  const [first = own, ...others] = domains.map(({ host, hasCertificate }) =>
    hasCertificate === true && edgeTlsPort !== null
      ? origin('https', host, edgeTlsPort)
      : origin('http', host, edgePort),
  );
  return domains.length === 0 ? [own] : [first, ...others, own];
}

function origin(scheme: 'http' | 'https', host: string, port: number): string {
  const usual = scheme === 'http' ? 80 : 443;
  return `${scheme}://${host}${port === usual ? '' : `:${String(port)}`}`;
}
