/**
 * Owns the configuration: the only reader of `process.env` and of `config/`.
 *
 * 1. `config/default.json`, overridden by the file named in GANGWAY_CONFIG, overridden by
 *    GANGWAY_* variables; resolved once, at start.
 * 2. A wrong value, and an unknown key in a file, is a ConfigError of one line that names the option,
 *    the variable, the value seen and what is allowed. Secrets are not shown.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { buildEnvOf } from './lib/build-env.ts';
import { isAddress, isDnsServer, isNetwork } from './lib/network-texts.ts';
import { httpsUrl, httpUrl, sourceUrl } from './lib/url-texts.ts';
import { type IsolationLayer, isolationLayers, layersIn } from './protocol/isolation.ts';
import { type DatabaseEngine, databaseEngines } from './store/records/records.ts';
import defaults from '../config/default.json' with { type: 'json' };

export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Throws a sentence part that says what is allowed. */
type Parse<T> = (value: unknown) => T;

const text = matching(/^/, 'a text');
const imageReference = matching(
  /^[a-z0-9][\w.\-/:@]{0,511}$/i,
  'the name of an image, such as "node:22-slim"',
);
const label = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';

const parsers = {
  host: matching(/^[A-Za-z0-9.:_-]+$/, 'a host name or an IP address'),
  /** 0: a free port, printed at start. */
  port: integer(0, 65_535),
  /** Absolute. */
  dataDir: text,
  /** Without trailing slash; null: `http://<host>:<port>`. */
  publicUrl: orNone(httpUrl),
  appsDomain: matching(
    new RegExp(`^${label}(\\.${label})*$`),
    'a domain name in lower case, such as "apps.example.com"',
  ),
  edgeHost: text,
  edgePort: integer(1, 65_535),
  /** Where agents of other servers dial in. */
  agentHost: text,
  agentPort: integer(1, 65_535),
  /** Null: the edge speaks no HTTPS. */
  edgeTlsPort: orNone(integer(1, 65_535)),
  /** Whether the edge serves the panel, too, and what of `Strict-Transport-Security` it tells there. */
  edgePanel: oneOf('off', 'on'),
  /** "auto" is one on up to two cores, else half of the cores, four at most. */
  edgeProcesses: byCores(availableParallelism(), 4),
  panelHstsSeconds: orNone(integer(0, 63_072_000)),
  runtime: oneOf('auto', 'process', 'docker', 'swarm'),
  /** Absolute path of the daemon's socket. */
  dockerSocket: socketPath,
  /** What apps without a Dockerfile are built with, and what a compiled one runs in. */
  nodeImage: imageReference,
  pythonImage: imageReference,
  goImage: imageReference,
  baseImage: imageReference,
  /** Instead of an engine's own images; `{version}` stands for the version. */
  databaseImages,
  /** Layers that keep workloads of the process runtime apart, and are left out. */
  isolationWithout: layers,
  trustedProxies: networks,
  /** Whom domains of apps are looked up at; none: whom the system asks. */
  dnsResolvers: dnsServers,
  /** Where the edge is reached; none: where the panel's address leads. */
  publicAddresses: addresses,
  /** Where our own requests may go besides public addresses. */
  privateNetworks: networks,
  /** Where GitHub is: its public one, or a GitHub Enterprise. */
  githubUrl: httpUrl,
  /** Where versions and images are looked up; null: nowhere, and what is shipped counts. */
  dockerHubUrl: orNone(sourceUrl),
  /** Asked for images of Docker Hub where that itself does not answer. */
  dockerRegistryUrl: orNone(sourceUrl),
  nodeIndexUrl: orNone(sourceUrl),
  npmRegistryUrl: orNone(sourceUrl),
  /** Besides the folder in the data directory: where folders of backups may be. */
  backupRoots: folders,
  /** Where certificates come from; null: nowhere, people upload theirs. */
  'acme.directory': orNone(httpsUrl),
  /** Whom the authority writes to. */
  'acme.email': orNone(matching(/^[^\s@<>,]+@[^\s@<>,]+$/, 'an address of email')),
  /** What binds the account to a customer of the authority: `<key id>:<HMAC key>`. */
  'acme.eab': orNone(
    matching(/^[^\s:]+:[\w-]{16,}=*$/, '"<key id>:<HMAC key>", the key in base64url'),
  ),
  /** In PEM: what shows the authority's own address besides public authorities. */
  'acme.ca': orNone(authorities),
  /** Sets TXT records, for wildcards. */
  'acme.dnsCommand': orNone(programPath),
  logLevel: oneOf('debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  /** Who reads `/metrics`; with `admin` also whom the token and the networks let in. */
  metrics: oneOf('off', 'admin', 'all'),
  metricsToken: orNone(
    matching(/^[\x21-\x7e]{16,512}$/, '16 to 512 visible ASCII characters, none of them a space'),
  ),
  metricsNetworks: networks,
  /** 32 bytes in hex or base64; null: the file `instance.key`. */
  instanceKey: orNone(
    matching(/^([0-9a-f]{64}|[a-z0-9+/_-]{43}=?)$/i, '32 bytes in hex or base64'),
  ),
  maxLogStreamsPerUser: integer(1, 100_000),
  maxConsolesPerUser: integer(1, 1_000),
  maxUploadMb: integer(1, 65_536),
  maxRestoreMb: integer(1, 16_777_216),
  maxSockets: integer(10, 1_000_000),
  maxHeaderKb: integer(1, 1024),
  answerSeconds: integer(1, 3600),
  bodyIdleSeconds: integer(1, 3600),
  drainSeconds: integer(0, 600),
  logQuotaMb: integer(1, 1_048_576),
  logMaxDays: integer(1, 3650),
  activityDays: integer(1, 3650),
  activityMaxPerTeam: integer(100, 10_000_000),
  backupConcurrency: integer(1, 64),
  backupTimeoutMinutes: integer(1, 10_080),
  backupJitterSeconds: integer(0, 3600),
  buildConcurrency: integer(1, 64),
  buildTimeoutMinutes: integer(1, 1440),
  healthTimeoutSeconds: integer(1, 3600),
  appDrainSeconds: integer(0, 3600),
  /** Threads that serve HTTP; "auto" is one on up to two cores, else half of the cores. */
  gatewayThreads: byCores(availableParallelism(), 64),
  queryThreads: integer(1, 64),
  bulkThreads: integer(1, 64),
  inlineQueryCost: integer(0, 1_000_000),
  /** Of one token. */
  mcpCallsPerMinute: integer(1, 1_000_000_000),
  /** Calls of one token under way at a time. */
  mcpCallsAtOnce: integer(1, 10_000),
};

type Key = keyof typeof parsers;
export type Config = { [K in Key]: ReturnType<(typeof parsers)[K]> };
const keys = Object.keys(parsers) as Key[];

const secretKeys: ReadonlySet<Key> = new Set(['instanceKey', 'metricsToken', 'acme.eab']);

/** The environment variable of an option: `dataDir` is GANGWAY_DATA_DIR, `acme.email` GANGWAY_ACME_EMAIL. */
export function variableOf(key: Key): string {
  const words = key.replaceAll('.', '_').replace(/[A-Z]/g, (letter) => `_${letter}`);
  return `GANGWAY_${words.toUpperCase()}`;
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
    for (const [key, value] of Object.entries(flattened(source))) {
      if (!(key in parsers)) throw new ConfigError(`${from}: there is no option "${key}"`);
      values[key] = { value, from };
    }
  };
  take(defaults, 'config/default.json');
  if (env['GANGWAY_CONFIG']) take(readFile(env['GANGWAY_CONFIG']), env['GANGWAY_CONFIG']);
  for (const key of keys) {
    const value = env[variableOf(key)];
    if (value !== undefined) values[key] = { value, from: variableOf(key) };
  }
  const config = Object.fromEntries(
    keys.map((key) => [key, parse(key, values[key])]),
  ) as unknown as Config;
  config.dataDir = resolve(config.dataDir);
  config.edgeHost ||= config.host;
  config.agentHost ||= config.host;
  mustHave(config, 'acme.directory', ['acme.email', 'acme.eab', 'acme.ca', 'acme.dnsCommand']);
  mustHave(config, 'edgeTlsPort', ['acme.directory', 'edgePanel']);
  mustHave(config, 'edgePanel', ['panelHstsSeconds']);
  const known = new Set([...keys.map(variableOf), 'GANGWAY_CONFIG']);
  const unknownVariables = Object.keys(env).filter(
    (name) => name.startsWith('GANGWAY_') && !known.has(name),
  );
  return { config, unknownVariables };
}

/** Whether no operator chose another image: then an app may choose the version of Node. */
export function isDefaultNodeImage({ nodeImage }: Pick<Config, 'nodeImage'>): boolean {
  return nodeImage === defaults.nodeImage;
}

/** See `buildEnvOf`. */
export function hostBuildEnv(): Record<string, string> {
  return buildEnvOf(process.env);
}

/** `{"acme": {"email": …}}` is `acme.email`. */
function flattened(source: object): Record<string, unknown> {
  const { acme, ...others } = source as Record<string, unknown>;
  if (typeof acme !== 'object' || acme === null) return { ...source };
  const inner = Object.entries(acme).map(([key, value]: [string, unknown]) => [
    `acme.${key}`,
    value,
  ]);
  return { ...others, ...(Object.fromEntries(inner) as Record<string, unknown>) };
}

/** Throws for what has no effect without another option. */
function mustHave(config: Config, needed: Key, needing: readonly Key[]): void {
  const isOff = (key: Key): boolean => config[key] === null || config[key] === 'off';
  const idle = isOff(needed) && needing.find((key) => !isOff(key));
  if (!idle) return;
  throw new ConfigError(
    `option "${idle}" (${variableOf(idle)}) has no effect without "${needed}" (${variableOf(needed)})`,
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

function parse(key: Key, seen: { value: unknown; from: string } | undefined): Config[Key] {
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

function byCores(cores: number, mostByItself: number): Parse<number> {
  const number = integer(1, 64);
  return (value) => {
    if (value === 'auto') return cores <= 2 ? 1 : Math.min(mostByItself, Math.floor(cores / 2));
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

function matching(pattern: RegExp, allowed: string): Parse<string> {
  return (value) => {
    if (typeof value !== 'string' || !pattern.test(value)) throw new Error(allowed);
    return value;
  };
}

function socketPath(value: unknown): string {
  const path = typeof value === 'string' ? value.replace(/^unix:\/\//, '') : '';
  if (!isAbsolute(path)) throw new Error('the path of a socket, such as "/var/run/docker.sock"');
  return path;
}

function orNone<T>(inner: Parse<T>): Parse<T | null> {
  return (value) => (value === '' || value === null ? null : inner(value));
}

/** One certificate or several in PEM, or the path of a file of them. */
function authorities(value: unknown): string {
  try {
    const text = String(value);
    const pem = isAbsolute(text) ? readFileSync(text, 'utf8') : text;
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    if (blocks.length === 0) throw new Error('There is none.');
    return blocks.map((block) => new X509Certificate(block).toString()).join('');
  } catch (cause) {
    throw new Error('certificates in PEM, or the absolute path of a file of them', { cause });
  }
}

function programPath(value: unknown): string {
  if (typeof value !== 'string' || !isAbsolute(value)) throw new Error('an absolute path');
  return value;
}

function databaseImages(value: unknown): Partial<Record<DatabaseEngine, string>> {
  const allowed =
    'a list of <engine>=<image>, such as "POSTGRES=mirror.example/postgres:{version}"';
  const images: Partial<Record<DatabaseEngine, string>> = {};
  for (const one of listed(value, allowed)) {
    const [, name, image = ''] = /^([A-Z]+)=(.+)$/.exec(String(one)) ?? [];
    const engine = databaseEngines.find((known) => known === name);
    if (engine === undefined) throw new Error(allowed);
    imageReference(image.replaceAll('{version}', '1'));
    images[engine] = image;
  }
  return images;
}

function addresses(value: unknown): string[] {
  return listOf(value, 'a list of IP addresses, such as "203.0.113.7, 2001:db8::7"', isAddress);
}

function dnsServers(value: unknown): string[] {
  const allowed =
    'a list of IP addresses with or without port, such as "9.9.9.9, [2620:fe::fe]:53"';
  return listOf(value, allowed, isDnsServer);
}

function networks(value: unknown): string[] {
  const allowed = 'a list of IP addresses and CIDRs, such as "127.0.0.1, 10.0.0.0/8"';
  return listOf(value, allowed, isNetwork);
}

function listOf(value: unknown, allowed: string, fits: (one: string) => boolean): string[] {
  return listed(value, allowed).map((one) => {
    if (typeof one !== 'string' || !fits(one)) throw new Error(allowed);
    return one;
  });
}

function folders(value: unknown): string[] {
  const allowed = 'a list of absolute paths, such as "/mnt/backups"';
  return listed(value, allowed).map((one) => {
    if (typeof one !== 'string' || !isAbsolute(one) || resolve(one) === '/')
      throw new Error(allowed);
    return resolve(one);
  });
}

function layers(value: unknown): IsolationLayer[] {
  const allowed = `a list out of ${isolationLayers.join(', ')}, such as "network,mount"`;
  const named = listed(value, allowed);
  if (named.some((one) => !isolationLayers.some((layer) => layer === one)))
    throw new Error(allowed);
  return layersIn(named.join());
}

/** A list, or a text with commas, without what is empty. */
function listed(value: unknown, allowed: string): unknown[] {
  const list: unknown =
    typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value;
  if (!Array.isArray(list)) throw new Error(allowed);
  return list.filter((one) => one !== '');
}

/** Sets a variable that a library reads for itself; nothing else writes the environment. */
export function setVariable(name: string, value: string): void {
  process.env[name] = value;
}

/** The panel's address where none is configured. */
export function addressOf(host: string, port: number): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${String(port)}`;
}
