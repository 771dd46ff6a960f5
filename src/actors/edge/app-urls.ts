/** Owns the addresses that people open an app at. */
import type { AppRecord } from '../../store/records/records.ts';

export interface EdgeAddress {
  /** Apps have names below it. */
  appsDomain: string;
  edgePort: number;
  /** Null: nothing is served over HTTPS. */
  edgeTlsPort: number | null;
  /** Whether one certificate serves all names below `appsDomain`. */
  hasAppsCertificate: boolean;
}

/** Whether anything answers there says the app's status. The primary domain first, Gangway's own name last. */
export function urlsOf(
  { slug, hosts = [] }: Pick<AppRecord, 'slug' | 'hosts'>,
  address: EdgeAddress,
): [string, ...string[]] {
  const domains = hosts.filter(
    ({ host, redirectTo, isActive }) =>
      isActive === true && redirectTo === undefined && !host.startsWith('*.'),
  );
  const { appsDomain, hasAppsCertificate } = address;
  const own = reachedAt(`${slug}.${appsDomain}`, hasAppsCertificate, address);
  const [first = own, ...others] = domains.map(({ host, hasCertificate }) =>
    reachedAt(host, hasCertificate === true, address),
  );
  return domains.length === 0 ? [own] : [first, ...others, own];
}

function reachedAt(
  host: string,
  hasCertificate: boolean,
  { edgePort, edgeTlsPort }: EdgeAddress,
): string {
  return hasCertificate && edgeTlsPort !== null
    ? origin('https', host, edgeTlsPort)
    : origin('http', host, edgePort);
}

function origin(scheme: 'http' | 'https', host: string, port: number): string {
  const usual = scheme === 'http' ? 80 : 443;
  return `${scheme}://${host}${port === usual ? '' : `:${String(port)}`}`;
}
