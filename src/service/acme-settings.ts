/** Owns what certificates are ordered by, from the configuration, and which one is for the instance itself. */
import { isIP } from 'node:net';
import type { AcmeSettings } from '../actors/certificates/authority.ts';
import type { Config } from '../config.ts';

/** Null where none are. */
export function acmeSettings(config: Config): AcmeSettings | null {
  const directory = config['acme.directory'];
  if (directory === null) return null;
  const [, kid = '', key = ''] = /^([^:]+):(.+)$/.exec(config['acme.eab'] ?? '') ?? [];
  return {
    directory,
    email: config['acme.email'],
    binding: kid === '' ? null : { kid, key },
    ca: config['acme.ca'],
    dnsCommand: config['acme.dnsCommand'],
  };
}

/**
 * What one certificate is ordered for that serves the names which apps have from Gangway: `*.<appsDomain>`. Null where none can
 * be had: a wildcard is proved in the DNS, and nobody certifies `localhost` or addresses.
 */
export function appsWildcard(config: Config): string | null {
  const { appsDomain, edgeTlsPort } = config;
  const isOrdered = config['acme.directory'] !== null && config['acme.dnsCommand'] !== null;
  if (!isOrdered || edgeTlsPort === null) return null;
  const labels = appsDomain.split('.');
  const isPublic = labels.length > 1 && labels.at(-1) !== 'localhost' && isIP(appsDomain) === 0;
  return isPublic ? `*.${appsDomain}` : null;
}
