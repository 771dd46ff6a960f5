/**
 * Owns the configuration: the only reader of `process.env` and of `config/`.
 *
 * 1. `config/default.json`, overridden by the file named in GANGWAY_CONFIG, overridden by
 *    GANGWAY_* variables; resolved once, at start.
 * 2. A wrong value, and an unknown key in a file, is a ConfigError of one line that names the option,
 *    the variable, the value seen and what is allowed. Secrets are not shown.
 */
import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { databaseEngines } from './store/records/records.ts';
import type { DatabaseEngine } from './store/records/records.ts';
import defaults from '../config/default.json' with { type: 'json' };

export class ConfigError extends Error {
  override name = 'ConfigError';
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export interface Config {
  host: string;
  /** 0: a free port, printed at start. */
  port: number;
  /** Absolute. */
  dataDir: string;
  /** Without trailing slash; null: `http://<host>:<port>`. */
  publicUrl: string | null;
  appsDomain: string;
  edgeHost: string;
  edgePort: number;
  runtime: 'auto' | 'process' | 'docker' | 'swarm';
  /** Absolute path of the daemon's socket. */
  dockerSocket: string;
  /** What apps without a Dockerfile are built with, and what a compiled one runs in. */
  nodeImage: string;
  pythonImage: string;
  goImage: string;
  baseImage: string;
  /** Instead of an engine's own images; `{version}` stands for the version. */
  databaseImages: Partial<Record<DatabaseEngine, string>>;
  trustedProxies: string[];
  /** Where our own requests may go besides public addresses. */
  privateNetworks: string[];
  logLevel: LogLevel;
  /** Who reads `/metrics`; with `admin` also whom the token and the networks let in. */
  metrics: 'off' | 'admin' | 'all';
  metricsToken: string | null;
  metricsNetworks: string[];
  /** 32 bytes in hex or base64; null: the file `instance.key`. */
  instanceKey: string | null;
  maxLogStreamsPerUser: number;
  maxConsolesPerUser: number;
  maxUploadMb: number;
  maxSockets: number;
  maxHeaderKb: number;
  answerSeconds: number;
  bodyIdleSeconds: number;
  drainSeconds: number;
  logQuotaMb: number;
  logMaxDays: number;
  activityDays: number;
  activityMaxPerTeam: number;
  buildConcurrency: number;
  buildTimeoutMinutes: number;
  healthTimeoutSeconds: number;
  appDrainSeconds: number;
  /** Threads that serve HTTP; "auto" is one on up to two cores, else half of the cores. */
  gatewayThreads: number;
  queryThreads: number;
  bulkThreads: number;
  inlineQueryCost: number;
  /** Of one token. */
  mcpCallsPerMinute: number;
  /** Calls of one token under way at a time. */
  mcpCallsAtOnce: number;
}

type Key = keyof Config;
/** Throws a sentence part that says what is allowed. */
type Parse<T> = (value: unknown) => T;
type Parsers = { [K in Key]: Parse<Config[K]> };

const parsers: Parsers = {
  host: hostName,
  port: integer(0, 65_535),
  dataDir: text,
  publicUrl: optional(httpUrl),
  appsDomain: domain,
  edgeHost: text,
  edgePort: integer(1, 65_535),
  runtime: oneOf('auto', 'process', 'docker', 'swarm'),
  dockerSocket: socketPath,
  nodeImage: imageReference,
  pythonImage: imageReference,
  goImage: imageReference,
  baseImage: imageReference,
  databaseImages,
  trustedProxies: networks,
  privateNetworks: networks,
  logLevel: oneOf('debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  metrics: oneOf('off', 'admin', 'all'),
  metricsToken: optional(accessToken),
  metricsNetworks: networks,
  instanceKey: optional(key32),
  maxLogStreamsPerUser: integer(1, 100_000),
  maxConsolesPerUser: integer(1, 1_000),
  maxUploadMb: integer(1, 65_536),
  maxSockets: integer(10, 1_000_000),
  maxHeaderKb: integer(1, 1024),
  answerSeconds: integer(1, 3600),
  bodyIdleSeconds: integer(1, 3600),
  drainSeconds: integer(0, 600),
  logQuotaMb: integer(1, 1_048_576),
  logMaxDays: integer(1, 3650),
  activityDays: integer(1, 3650),
  activityMaxPerTeam: integer(100, 10_000_000),
  buildConcurrency: integer(1, 64),
  buildTimeoutMinutes: integer(1, 1440),
  healthTimeoutSeconds: integer(1, 3600),
  appDrainSeconds: integer(0, 3600),
  gatewayThreads: gatewayThreads(availableParallelism()),
  queryThreads: integer(1, 64),
  bulkThreads: integer(1, 64),
  inlineQueryCost: integer(0, 1_000_000),
  mcpCallsPerMinute: integer(1, 1_000_000_000),
  mcpCallsAtOnce: integer(1, 10_000),
};

const secretKeys: ReadonlySet<Key> = new Set(['instanceKey', 'metricsToken']);
/** Variables that are no options: where the file is. */
const otherVariables: ReadonlySet<string> = new Set(['GANGWAY_CONFIG']);

/** The environment variable of an option: `dataDir` is GANGWAY_DATA_DIR. */
export function variableOf(key: Key): string {
  return `GANGWAY_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export interface ResolvedConfig {
  config: Config;
  /** GANGWAY_* variables that name no option, for a warning. */
  unknownVariables: string[];
}

/** Resolves the configuration. Throws ConfigError. */
export function resolveConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
): ResolvedConfig {
  const values: Record<string, { value: unknown; from: string }> = {};
  const take = (source: object, from: string): void => {
    for (const [key, value] of Object.entries(source)) {
      if (!(key in parsers)) throw new ConfigError(`${from}: there is no option "${key}"`);
      values[key] = { value, from };
    }
  };
  take(defaults, 'config/default.json');
  if (env['GANGWAY_CONFIG']) take(readFile(env['GANGWAY_CONFIG']), env['GANGWAY_CONFIG']);
  for (const key of Object.keys(parsers) as Key[]) {
    const value = env[variableOf(key)];
    if (value !== undefined) values[key] = { value, from: variableOf(key) };
  }
  const config = Object.fromEntries(
    (Object.keys(parsers) as Key[]).map((key) => [key, parse(key, values[key])]),
  ) as unknown as Config;
  config.dataDir = isAbsolute(config.dataDir) ? config.dataDir : resolve(config.dataDir);
  config.edgeHost ||= config.host;
  const known = new Set([...(Object.keys(parsers) as Key[]).map(variableOf), ...otherVariables]);
  const unknownVariables = Object.keys(env).filter(
    (name) => name.startsWith('GANGWAY_') && !known.has(name),
  );
  return { config, unknownVariables };
}

/** Whether no operator chose another image: then an app may choose the version of Node. */
export function isDefaultNodeImage({ nodeImage }: Pick<Config, 'nodeImage'>): boolean {
  return nodeImage === defaults.nodeImage;
}

/** Where the host keeps what builds need to reach their registries: proxies, authorities, mirrors. */
// prettier-ignore
const buildVariables = [
  'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy',
  'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'PIP_CERT',
  'npm_config_registry', 'npm_config_cafile', 'PIP_INDEX_URL', 'GOPROXY', 'GOSUMDB',
];

export function hostBuildEnv(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return Object.fromEntries(
    buildVariables.flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
}

function readFile(path: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError(`GANGWAY_CONFIG: cannot read ${path}: ${(error as Error).message}`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ConfigError(`GANGWAY_CONFIG: ${path} is no JSON object`);
  }
  return parsed;
}

function parse<K extends Key>(
  key: K,
  seen: { value: unknown; from: string } | undefined,
): Config[K] {
  if (seen === undefined) throw new ConfigError(`option "${key}" (${variableOf(key)}) is missing`);
  try {
    return parsers[key](seen.value);
  } catch (error) {
    const shown = secretKeys.has(key) ? 'a value that is not shown' : JSON.stringify(seen.value);
    throw new ConfigError(
      `option "${key}" (${variableOf(key)}): ${shown} in ${seen.from} is not allowed; ` +
        `allowed is ${(error as Error).message}`,
    );
  }
}

function integer(min: number, max: number): Parse<number> {
  return (value) => {
    const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
      throw new Error(`an integer from ${min} to ${max}`);
    }
    return number;
  };
}

function gatewayThreads(cores: number): Parse<number> {
  const number = integer(1, 64);
  return (value) => {
    if (value === 'auto') return cores <= 2 ? 1 : Math.min(64, Math.floor(cores / 2));
    try {
      return number(value);
    } catch (error) {
      throw new Error(`"auto", or ${(error as Error).message}`);
    }
  };
}

function oneOf<const T extends string>(...allowed: T[]): Parse<T> {
  return (value) => {
    const found = allowed.find((one) => one === value);
    if (found === undefined) throw new Error(allowed.map((one) => `"${one}"`).join(', '));
    return found;
  };
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error('a text');
  return value;
}

function hostName(value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9.:_-]+$/.test(value)) {
    throw new Error('a host name or an IP address');
  }
  return value;
}

function socketPath(value: unknown): string {
  const path = typeof value === 'string' ? value.replace(/^unix:\/\//, '') : '';
  if (!isAbsolute(path)) throw new Error('the path of a socket, such as "/var/run/docker.sock"');
  return path;
}

function imageReference(value: unknown): string {
  if (typeof value !== 'string' || !/^[a-z0-9][\w.\-/:@]{0,511}$/i.test(value)) {
    throw new Error('the name of an image, such as "node:22-slim"');
  }
  return value;
}

function domain(value: unknown): string {
  const label = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
  if (typeof value !== 'string' || !new RegExp(`^${label}(\\.${label})*$`).test(value)) {
    throw new Error('a domain name in lower case, such as "apps.example.com"');
  }
  return value;
}

function optional(inner: Parse<string>): Parse<string | null> {
  return (value) => (value === '' || value === null ? null : inner(value));
}

function httpUrl(value: unknown): string {
  const allowed = new Error(
    'an http or https URL without path, such as "https://panel.example.com"',
  );
  if (typeof value !== 'string' || !URL.canParse(value)) throw allowed;
  const url = new URL(value);
  const plain = url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  if (!plain || !/^https?:$/.test(url.protocol)) throw allowed;
  return url.origin;
}

function accessToken(value: unknown): string {
  if (typeof value !== 'string' || !/^[\x21-\x7e]{16,512}$/.test(value)) {
    throw new Error('16 to 512 visible ASCII characters, none of them a space');
  }
  return value;
}

function key32(value: unknown): string {
  const isKey =
    typeof value === 'string' &&
    (/^[0-9a-fA-F]{64}$/.test(value) || Buffer.from(value, 'base64').length === 32);
  if (!isKey) throw new Error('32 bytes in hex or base64');
  return value;
}

/** A list, or a text with commas, of addresses and CIDRs. */
function databaseImages(value: unknown): Config['databaseImages'] {
  const list = typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value;
  const allowed =
    'a list of <engine>=<image>, such as "POSTGRES=mirror.example/postgres:{version}"';
  if (!Array.isArray(list)) throw new Error(allowed);
  const images: Config['databaseImages'] = {};
  for (const one of list.filter((part) => part !== '')) {
    const [, name, image = ''] = /^([A-Z]+)=(.+)$/.exec(String(one)) ?? [];
    const engine = databaseEngines.find((known) => known === name);
    if (engine === undefined) throw new Error(allowed);
    imageReference(image.replaceAll('{version}', '1'));
    images[engine] = image;
  }
  return images;
}

function networks(value: unknown): string[] {
  const list = typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value;
  const allowed = 'a list of IP addresses and CIDRs, such as "127.0.0.1, 10.0.0.0/8"';
  if (!Array.isArray(list)) throw new Error(allowed);
  return list
    .filter((one) => one !== '')
    .map((one: unknown) => {
      if (typeof one !== 'string' || !isNetwork(one)) throw new Error(allowed);
      return one;
    });
}

function isNetwork(value: string): boolean {
  const [address = '', prefix, ...rest] = value.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  if (!/^\d{1,3}$/.test(prefix)) return false;
  try {
    new BlockList().addSubnet(address, Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    // The prefix is longer than the address.
    return false;
  }
}

/** Sets a variable that a library reads for itself; nothing else writes the environment. */
export function setVariable(name: string, value: string): void {
  process.env[name] = value;
}
