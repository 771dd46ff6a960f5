/** Owns what the certificates are ordered by, from the configuration. */
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
