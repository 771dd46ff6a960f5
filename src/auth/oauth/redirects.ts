/**
 * Owns what is said about redirect URIs beside the library's own exact matching: which kind of
 * application a registration speaks of, and how a redirect is shown to a person.
 */

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * The application type that a registration means without saying so. The clients people use register
 * `http://localhost/…` and leave it out, although OpenID's default is `web`, which forbids that.
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

/** Where a redirect leads, for people: a host, or the scheme that an application on it took. */
export function shownTarget(redirectUri: string): string {
  if (!URL.canParse(redirectUri)) return '';
  const { protocol, host } = new URL(redirectUri);
  return host === '' ? protocol : host;
}

export function isLoopbackTarget(redirectUri: string): boolean {
  return URL.canParse(redirectUri) && loopbackHosts.has(new URL(redirectUri).hostname);
}

/** As a source of a policy for `form-action`: browsers hold a redirect after a form to it. */
export function policySource(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  // An IPv6 address cannot stand in a policy.
  const usable = /^[a-z0-9.-]+(:\d+)?$/i.test(host) && /^https?:$/.test(protocol);
  return usable ? `${protocol}//${host}` : protocol;
}
