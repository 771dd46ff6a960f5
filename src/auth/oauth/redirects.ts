/**
 * Owns what is done with redirect URIs beside the library's exact matching: which kind of application a
 * registration means, and how a redirect is shown to a person.
 */

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * The application type of a registration that names none. Common clients register `http://localhost/…`
 * and name no type, although OpenID's default is `web`, which forbids such addresses.
 */
export function impliedApplicationType(redirectUris: unknown): 'native' | 'web' {
  if (!Array.isArray(redirectUris)) return 'web';
  const isNative = redirectUris.some((uri: unknown) => {
    if (typeof uri !== 'string' || !URL.canParse(uri)) return false;
    const { protocol, hostname } = new URL(uri);
    if (protocol === 'http:') return loopbackHosts.has(hostname);
    return protocol !== 'https:';
  });
  return isNative ? 'native' : 'web';
}

/** Where a redirect leads, as people read it: a host, or the scheme of an application. */
export function shownTarget(redirectUri: string): string {
  if (!URL.canParse(redirectUri)) return '';
  const { protocol, host } = new URL(redirectUri);
  return host === '' ? protocol : host;
}

export function isLoopbackTarget(redirectUri: string): boolean {
  return URL.canParse(redirectUri) && loopbackHosts.has(new URL(redirectUri).hostname);
}

/** A source for the policy `form-action`, which browsers apply to the redirect after a form, too. */
export function policySource(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  // An IPv6 address cannot stand in a policy.
  const usable = /^[a-z0-9.-]+(:\d+)?$/i.test(host) && /^https?:$/.test(protocol);
  return usable ? `${protocol}//${host}` : protocol;
}
