/** Owns how addresses of the web are read in settings. Each throws an Error that says what is allowed. */

/** An origin. */
export function httpUrl(value: unknown): string {
  const allowed = new Error(
    'an http or https URL without path, such as "https://panel.example.com"',
  );
  if (typeof value !== 'string' || !URL.canParse(value)) throw allowed;
  const url = new URL(value);
  const plain = url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  if (!plain || !/^https?:$/.test(url.protocol)) throw allowed;
  return url.origin;
}

/** Without a trailing slash. */
export function sourceUrl(value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value)) {
    const { protocol, username, search, hash, href } = new URL(value);
    if (/^https?:$/.test(protocol) && username + search + hash === '')
      return href.replace(/\/$/, '');
  }
  throw new Error('an http or https URL, such as "https://hub.docker.com"');
}

export function httpsUrl(value: unknown): string {
  if (typeof value === 'string' && URL.canParse(value)) {
    const { protocol, username, hash, href } = new URL(value);
    if (protocol === 'https:' && username === '' && hash === '') return href;
  }
  throw new Error('an https URL, such as "https://acme-v02.api.letsencrypt.org/directory"');
}
