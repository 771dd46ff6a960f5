/**
 * Owns which hosts may be domains of apps, and how they relate: names in ASCII and lower case, with `*.` before a
 * name for any one label there.
 */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { ServiceError } from '../../lib/errors.ts';
import { bad } from '../app/settings/validate.ts';

/** Hosts that are the instance's own. */
export interface OwnHosts {
  /** Of the panel. */
  panel: string;
  /** Apps have names below it. */
  appsDomain: string;
}

const hostMax = 253;
const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const hostPattern = new RegExp(`^${label}(\\.${label})+$`);

/** The host as it is stored. Throws BAD_USER_INPUT. */
export function checkHost(given: string, ownHosts: OwnHosts): string {
  const typed = given.trim().toLowerCase().replace(/\.$/, '');
  const isWildcard = typed.startsWith('*.');
  const base = asciiOf(isWildcard ? typed.slice(2) : typed);
  const host = isWildcard ? `*.${base}` : base;
  if (host.length > hostMax) throw noHost();
  const own = ownsHost(ownHosts, host);
  if (own !== undefined) throw bad(`host: ${own}`);
  return host;
}

/** Whether the host, as it is stored, is the instance's own: undefined; else why, for people. */
export function ownsHost({ panel, appsDomain }: OwnHosts, host: string): string | undefined {
  if (isAtOrBelow(baseOf(host), appsDomain) || covers(host, appsDomain)) {
    return `names at ${appsDomain} are given to apps by Gangway itself.`;
  }
  return host === panel || covers(host, panel) ? `${panel} is the panel's own host.` : undefined;
}

function asciiOf(name: string): string {
  // What a URL would take for the end of a host, or for something else than a name.
  if (name.length > hostMax || /[\s/\\:@?#%[\]*<>^|]/u.test(name)) throw noHost();
  const ascii = domainToASCII(name);
  // The last label of a name is never a number: `1.2` would be an address.
  if (!hostPattern.test(ascii) || isIP(ascii) !== 0 || /\.\d+$/.test(ascii)) throw noHost();
  return ascii;
}

function noHost(): ServiceError {
  return bad('host must be a host name such as "shop.example.com", or "*.example.com".');
}

/** The name itself, of a wildcard the name that it is below. */
export function baseOf(host: string): string {
  return isWildcard(host) ? host.slice(2) : host;
}

export function isWildcard(host: string): boolean {
  return host.startsWith('*.');
}

/** The name and what it is below, down to two labels; each also as a wildcard of that name. */
export function claimsAbove(host: string): string[] {
  const labels = baseOf(host).split('.');
  return labels.slice(0, -1).flatMap((_, at) => {
    const name = labels.slice(at).join('.');
    return [name, `*.${name}`];
  });
}

/** Whether a wildcard stands for the name: it is one label longer. */
function covers(wildcard: string, name: string): boolean {
  return isWildcard(wildcard) && name.slice(name.indexOf('.') + 1) === baseOf(wildcard);
}

function isAtOrBelow(name: string, above: string): boolean {
  return name === above || name.endsWith(`.${above}`);
}
