/**
 * Owns what a destination of backups may be. Every refusal is BAD_USER_INPUT with a sentence that names the
 * field and what is allowed.
 */
import { namePattern } from '../../backups/destinations/destination.ts';
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import { checkedName } from '../../lib/names.ts';
import { bad } from '../app/settings/validate.ts';
import { belowRoot, type ServerRoots } from './place.ts';
import type { NewDestination } from './protocol.ts';

/** What was given, trimmed; the parts of the other kind are not there. */
export interface CheckedDestination {
  name: string;
  path: string | null;
  bucket: CheckedBucket | null;
}

interface CheckedBucket {
  endpoint: string;
  name: string;
  region: string;
  accessKey: string;
  secretKey: string;
}

const pathMax = 512;
const depthMax = 8;
const urlMax = 512;
const keyMax = 1024;
const bucketPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
const regionPattern = /^[A-Za-z0-9-]{1,64}$/;
const keyPattern = /^[\x21-\x7e]+$/;
const regionDefault = 'us-east-1';
/** Folders of destinations begin so: one cannot be put into another. */
const ownFolder = 'dst_';

export interface CheckParts {
  roots: ServerRoots;
  fetch: Pick<GuardedFetch, 'checked'>;
}

export function checkDestination(input: NewDestination, parts: CheckParts): CheckedDestination {
  const name = checkedName(input.name, 'A name of a destination');
  const path = given(input.path)?.replace(/\/+$/, '') ?? null;
  return input.kind === 'server'
    ? { name, path: checkServer(input, path, parts.roots), bucket: null }
    : { name, path: checkPrefix(path), bucket: checkBucket(input, parts.fetch) };
}

const bucketFields = ['endpoint', 'bucket', 'region', 'accessKey', 'secretKey'] as const;

function checkServer(
  input: NewDestination,
  path: string | null,
  roots: ServerRoots,
): string | null {
  const foreign = bucketFields.find((field) => given(input[field]) !== null);
  if (foreign !== undefined) throw bad(`${foreign} is for kind s3.`);
  if (path?.startsWith('/') !== true) return checkPrefix(path);
  const below = belowRoot(path, roots);
  if (below === null) {
    throw bad('path must be relative, or lie in a folder that the operator named (backupRoots).');
  }
  if (below !== '') checkNames(below);
  return path;
}

function checkPrefix(path: string | null): string | null {
  if (path !== null) checkNames(path);
  return path;
}

function checkNames(path: string): void {
  const names = path.split('/');
  const areNames = names.every((name) => namePattern.test(name) && !name.startsWith(ownFolder));
  if (areNames && names.length <= depthMax && path.length <= pathMax) return;
  throw bad(
    `path has at most ${String(depthMax)} names with "/" between them, of letters, digits, ".", "_" and "-"; ` +
      'none begins with ".", "_", "-" or "dst_".',
  );
}

function checkBucket(input: NewDestination, fetch: Pick<GuardedFetch, 'checked'>): CheckedBucket {
  const { accessKey, secretKey } = input;
  const region = given(input.region) ?? regionDefault;
  if (!regionPattern.test(region)) throw bad('region must be a name such as "eu-central-1".');
  const name = given(input.bucket) ?? '';
  if (!bucketPattern.test(name)) throw bad('bucket must be the name of a bucket.');
  if (!isKey(accessKey) || !isKey(secretKey)) {
    throw bad('Give accessKey and secretKey, each at most 1,024 visible characters.');
  }
  return { endpoint: checkEndpoint(input, region, fetch), name, region, accessKey, secretKey };
}

function checkEndpoint(
  input: NewDestination,
  region: string,
  fetch: Pick<GuardedFetch, 'checked'>,
): string {
  const endpoint = given(input.endpoint) ?? `https://s3.${region}.amazonaws.com`;
  const what = 'endpoint must be a URL without query, such as "https://s3.example.com".';
  if (endpoint.length > urlMax) throw bad(what);
  try {
    const url = fetch.checked(endpoint);
    if (url.search !== '' || url.hash !== '') throw bad(what);
    return url.href.replace(/\/+$/, '');
  } catch (error) {
    if (error instanceof FetchRefused) throw bad(`endpoint cannot be used: ${error.message}`);
    throw error;
  }
}

function isKey(key: string | null): key is string {
  return key !== null && key.length <= keyMax && keyPattern.test(key);
}

function given(text: string | null): string | null {
  return text?.trim() || null;
}
