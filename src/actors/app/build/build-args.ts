/**
 * Owns which build arguments a Dockerfile takes. What a builder is given beyond these it would only
 * complain about, and what it is given it keeps in the history of the image.
 */

/** The names behind ARG, in any stage. */
export function declaredArgs(dockerfile: string): Set<string> {
  const names = new Set<string>();
  const lines = dockerfile.split(/\r?\n/).filter((line) => !/^\s*#/.test(line));
  // A line goes on behind the escape character, which a directive may have changed.
  const whole = lines.join('\n').replace(/[\\`][ \t]*\n/g, ' ');
  for (const line of whole.split('\n')) {
    const rest = /^\s*ARG\s+(.*)$/i.exec(line)?.[1];
    if (rest === undefined) continue;
    for (const [, name = ''] of rest.matchAll(/([A-Za-z_]\w*)(?:=(?:"[^"]*"|'[^']*'|\S*))?/g)) {
      names.add(name);
    }
  }
  return names;
}

/** Builders know these without ARG, and keep them out of the image. */
// prettier-ignore
const proxyArgs = [
  'HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY',
  'http_proxy', 'https_proxy', 'ftp_proxy', 'no_proxy', 'all_proxy',
];
/** Where packages come from; the rest of what the host passes on are files that no image has. */
const mirrorArgs = ['npm_config_registry', 'PIP_INDEX_URL', 'GOPROXY', 'GOSUMDB'];

/** Of what the host passes to builds, what a builder in a container can use. */
export function hostArgs(passedOn: Readonly<Record<string, string>>): {
  proxies: Record<string, string>;
  mirrors: Record<string, string>;
} {
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = passedOn[name];
        // An address with a password would stay in the image.
        return value === undefined || /\/\/[^/]*@/.test(value) ? [] : [[name, value]];
      }),
    );
  return { proxies: pick(proxyArgs), mirrors: pick(mirrorArgs) };
}
