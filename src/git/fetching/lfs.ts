/**
 * Owns fetching what Git LFS keeps beside a repository (https://github.com/git-lfs/git-lfs, docs/api/batch.md).
 *
 * 1. It is fetched from the host of the repository alone, and after no redirect.
 * 2. What comes is what the commit names, by length and SHA-256; else it fails.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { gitFailed, plainLine } from '../git-failure.ts';
import { authorizationOf, type Link, notReached, timely } from './upload-pack.ts';

export interface LfsObject {
  /** SHA-256, hex. */
  oid: string;
  size: number;
}

/** Where an object is; null: on another host. */
export type LfsPlace = { href: string; headers: Record<string, string> } | null;

const batchMax = 100;
const answerMaxBytes = 1024 * 1024;
const kind = 'application/vnd.git-lfs+json';
const pointer =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n$/;
/** Of files that stand for others. */
export const pointerBytes = { min: 100, max: 1024 };

/** What a file stands for; null: it is itself. */
export function pointedBy(content: Uint8Array): LfsObject | null {
  const [, oid, size] = pointer.exec(Buffer.from(content).toString('latin1')) ?? [];
  return oid === undefined ? null : { oid, size: Number(size) };
}

/** Where objects are, by their names. Rejects with GIT_FAILED: one is not there. */
export async function lfsPlaces(
  link: Link,
  objects: readonly LfsObject[],
): Promise<Map<string, LfsPlace>> {
  const places = new Map<string, LfsPlace>();
  for (let at = 0; at < objects.length; at += batchMax) {
    const some = objects.slice(at, at + batchMax);
    const told = await askFor(link, some);
    for (const { oid } of some) places.set(oid, placeOf(link, told.get(oid)));
  }
  return places;
}

/** The bytes of an object. Throws GIT_FAILED at the end of what is another one. */
export async function* lfsBytes(
  link: Link,
  { oid, size }: LfsObject,
  { href, headers }: NonNullable<LfsPlace>,
): AsyncGenerator<Uint8Array> {
  const answer = await send(link, 'GET', href, headers);
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of timely(link, answer)) {
    hash.update(chunk);
    bytes += chunk.length;
    if (bytes > size) break;
    yield chunk;
  }
  if (bytes !== size || hash.digest('hex') !== oid) {
    throw gitFailed(`The git server sent another file of Git LFS than ${oid.slice(0, 12)}.`);
  }
}

async function askFor(
  link: Link,
  objects: readonly LfsObject[],
): Promise<Map<unknown, Readonly<Record<string, unknown>>>> {
  const base = link.remote.url.replace(/\/+$/, '').replace(/(\.git)?$/, '.git');
  const body = { operation: 'download', transfers: ['basic'], hash_algo: 'sha256', objects };
  const headers = { accept: kind, 'content-type': kind, ...authorizationOf(link.remote) };
  const url = `${base}/info/lfs/objects/batch`;
  const answer = await send(link, 'POST', url, headers, Buffer.from(JSON.stringify(body)));
  const told = fieldOf(await jsonOf(link, answer), 'objects');
  const list: unknown[] = Array.isArray(told) ? told : [];
  return new Map(list.map((one) => [fieldOf(one, 'oid'), recordOf(one)]));
}

function placeOf({ remote }: Link, told: Readonly<Record<string, unknown>> | undefined): LfsPlace {
  const download = recordOf(fieldOf(told?.['actions'], 'download'));
  const href = download['href'];
  if (typeof href !== 'string' || !URL.canParse(href)) {
    const reason = fieldOf(told?.['error'], 'message');
    const said = typeof reason === 'string' ? `: ${plainLine(reason)}` : '.';
    throw gitFailed(`A file of Git LFS is not on the git server${said}`);
  }
  const [from, home] = [new URL(href), new URL(remote.url)];
  if (from.host !== home.host || from.protocol !== home.protocol) return null;
  const given = Object.entries(recordOf(download['header'])).filter(
    (header): header is [string, string] => typeof header[1] === 'string',
  );
  const headers = Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value]));
  const { authorization } = headers;
  return {
    href,
    headers: authorization === undefined ? authorizationOf(remote) : { authorization },
  };
}

async function send(
  link: Link,
  method: 'GET' | 'POST',
  url: string,
  headers: Readonly<Record<string, string>>,
  body?: Buffer,
): Promise<IncomingMessage> {
  const { http, signal, silenceMs } = link;
  let answer: IncomingMessage;
  try {
    const request = { method, headers, signal, silenceMs, ...(body && { body }) };
    answer = await http.send(url, request);
  } catch (error) {
    throw notReached(link, error);
  }
  if (answer.statusCode === 200) return answer;
  answer.destroy();
  const status = String(answer.statusCode);
  throw gitFailed(`The git server answers with status ${status} for files of Git LFS.`);
}

async function jsonOf(link: Link, answer: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of timely(link, answer)) {
    bytes += chunk.length;
    if (bytes > answerMaxBytes) break;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch (error) {
    throw gitFailed('The git server does not say where files of Git LFS are.', error);
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function fieldOf(value: unknown, name: string): unknown {
  return recordOf(value)[name];
}
