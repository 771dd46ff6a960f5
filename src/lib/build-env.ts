/** Owns which variables of our own environment builds of apps get. */

/** Where the host keeps what builds need to reach their registries: proxies, authorities, mirrors. */
// prettier-ignore
const buildVariables = [
  'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy',
  'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'PIP_CERT',
  'npm_config_registry', 'npm_config_cafile', 'PIP_INDEX_URL', 'GOPROXY', 'GOSUMDB',
];

/** `env`: that of this process. */
export function buildEnvOf(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    buildVariables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
}
