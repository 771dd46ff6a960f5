/**
 * Owns asking a git server for one commit: the client's side of gitprotocol-http(5), in version 2, and in
 * version 0 where a server knows no other.
 *
 * 1. Every request goes by the guarded fetch: to the very address that was checked, and after no redirect.
 * 2. Credentials are in a header, and nowhere else.
 * 3. A server that sends nothing for `silenceMs` is left.
 */
import type { IncomingMessage } from 'node:http';

import { type GuardedFetch, FetchRefused, SilenceError } from '../../lib/guarded-fetch.ts';
import type { GitRemote } from '../providers/provider.ts';
import { gitFailed, plainLine } from '../git-failure.ts';
import {
  delimiterPacket,
  flushPacket,
  MalformedPackets,
  packet,
  type Packet,
  packetsIn,
} from '../pkt-line.ts';

export interface Link {
  http: Pick<GuardedFetch, 'send'>;
  remote: GitRemote;
  silenceMs: number;
  signal: AbortSignal;
}

/** The newest commit of a branch, and how the server is spoken to. */
export interface Tip {
  sha: string;
  version: 0 | 2;
}

/** Of one list of branches. */
const refsMaxBytes = 32 * 1024 * 1024;
const agent = 'git/2.40.0-gangway';
const [offer, result] = ['upload-pack-advertisement', 'upload-pack-result'];

/** Rejects with GIT_FAILED: the server, the repository or the branch is not there, or not for us. */
export async function findBranch(link: Link, branch: string): Promise<Tip> {
  const answer = await ask(link, 'GET', '/info/refs?service=git-upload-pack', offer);
  const lines = await linesOf(link, answer);
  const isNew = lines.some((line) => line === 'version 2');
  const wanted = `refs/heads/${branch}`;
  const refs = isNew ? await listRefs(link, lines, wanted) : lines;
  for (const line of refs) {
    const [sha = '', name = ''] = line.split('\0')[0]?.split(' ') ?? [];
    if (name !== wanted) continue;
    if (!/^[0-9a-f]{40}$/.test(sha)) break;
    return { sha, version: isNew ? 2 : 0 };
  }
  throw gitFailed(`There is no branch ${plainLine(branch)} in the repository.`);
}

async function listRefs(link: Link, abilities: string[], wanted: string): Promise<string[]> {
  if (abilities.includes('object-format=sha256')) {
    throw gitFailed('The repository names its objects by SHA-256, which is not supported.');
  }
  const body = [packet('command=ls-refs\n'), packet(`agent=${agent}\n`), delimiterPacket];
  body.push(packet(`ref-prefix ${wanted}\n`), flushPacket);
  return linesOf(link, await post(link, 2, body));
}

/** The pack of a commit without its history. `have`: commits that are here, whole and without theirs. */
export async function* packOf(
  link: Link,
  { sha, version }: Tip,
  have: readonly string[],
): AsyncGenerator<Uint8Array> {
  const shallow = have.map((one) => packet(`shallow ${one}\n`));
  const haves = have.map((one) => packet(`have ${one}\n`));
  const body =
    version === 2
      ? [
          packet('command=fetch\n'),
          packet(`agent=${agent}\n`),
          delimiterPacket,
          ...['thin-pack', 'no-progress', 'ofs-delta', 'deepen 1', `want ${sha}`].map(line),
          ...[...shallow, ...haves, line('done'), flushPacket],
        ]
      : [
          line(`want ${sha} side-band-64k thin-pack ofs-delta no-progress agent=${agent}`),
          ...[...shallow, line('deepen 1'), flushPacket, ...haves, line('done')],
        ];
  const packets = packetsIn(timely(link, await post(link, version, body)));
  let isPack = false;
  for await (const one of explained(packets)) {
    if (one.kind !== 'data') continue;
    if (isPack || (version === 0 && (one.bytes[0] ?? 0) < 4)) {
      isPack = true;
      const bytes = unwrapped(one.bytes);
      if (bytes !== null) yield bytes;
    } else isPack = version === 2 && one.bytes.toString('latin1').trimEnd() === 'packfile';
  }
  if (!isPack) throw gitFailed('The git server sent no objects.');
}

function line(text: string): Buffer {
  return packet(`${text}\n`);
}

/** What stands in a band: 1 is the pack, 2 what is said meanwhile, 3 why it failed. */
function unwrapped(bytes: Buffer): Buffer | null {
  if (bytes[0] === 1) return bytes.subarray(1);
  if (bytes[0] === 2) return null;
  const words = bytes[0] === 3 ? bytes.subarray(1) : bytes;
  throw gitFailed(`The git server failed: ${plainLine(words.toString())}`);
}

function post(
  link: Link,
  version: 0 | 2,
  body: readonly (Uint8Array | string)[],
): Promise<IncomingMessage> {
  const bytes = Buffer.concat(body.map((part) => Buffer.from(part as string)));
  return ask(link, 'POST', '/git-upload-pack', result, { version, bytes });
}

async function ask(
  link: Link,
  method: 'GET' | 'POST',
  path: string,
  kind: string,
  { version, bytes }: { version: 0 | 2; bytes?: Buffer } = { version: 2 },
): Promise<IncomingMessage> {
  const { http, remote, signal, silenceMs } = link;
  const { credentials } = remote;
  const base = remote.url.replace(/\/+$/, '');
  const headers = {
    'user-agent': agent,
    accept: `application/x-git-${kind}`,
    ...(version === 2 && { 'git-protocol': 'version=2' }),
    ...(bytes && {
      'content-type': 'application/x-git-upload-pack-request',
      'content-length': String(bytes.length),
    }),
    ...authorizationOf(remote),
  };
  let answer: IncomingMessage;
  try {
    const request = { method, headers, signal, silenceMs, ...(bytes && { body: bytes }) };
    answer = await http.send(`${base}${path}`, request);
  } catch (error) {
    throw notReached(link, error);
  }
  const type = answer.headers['content-type'] ?? '';
  if (answer.statusCode === 200 && type.startsWith(`application/x-git-${kind}`)) return answer;
  answer.destroy();
  throw gitFailed(refusalOf(answer, credentials !== null));
}

/** The header by which a connection is known. */
export function authorizationOf({ credentials }: GitRemote): Record<string, string> {
  if (credentials === null) return {};
  const secret = Buffer.from(`${credentials.username}:${credentials.secret}`);
  return { authorization: `Basic ${secret.toString('base64')}` };
}

function refusalOf({ statusCode: status = 0, headers }: IncomingMessage, hasOwn: boolean): string {
  if (status === 401 || status === 403) {
    return hasOwn
      ? 'The git server refuses the credentials of the connection.'
      : 'The repository is not there, or not public: the git server asks for credentials.';
  }
  if (status === 404 || status === 410) return 'There is no such repository on the git server.';
  if (status >= 300 && status < 400) return `The repository has moved${placeOf(headers.location)}.`;
  if (status === 200) return 'There is no git repository at this address.';
  return `The git server answered with status ${String(status)}.`;
}

/** Where a redirect leads, for people; nothing that may be secret in it. */
function placeOf(location: string | undefined): string {
  if (location === undefined || !URL.canParse(location)) return '';
  const { protocol, host, pathname } = new URL(location);
  const path = pathname.replace(/\/info\/refs$/, '');
  return ` ${plainLine(`to ${protocol}//${host}${path}: redirects are not followed`)}`;
}

export function notReached({ remote, signal }: Link, error: unknown): unknown {
  if (signal.aborted) return error;
  const host = URL.canParse(remote.url) ? new URL(remote.url).host : 'The address';
  if (error instanceof FetchRefused) {
    return gitFailed(`The repository cannot be fetched from ${host}: ${error.message}`, error);
  }
  if (error instanceof SilenceError) return gitFailed(`${host} does not answer.`, error);
  const code = (error as NodeJS.ErrnoException).code ?? 'the connection broke';
  return gitFailed(`${host} cannot be reached (${code}).`, error);
}

/** The lines of a short answer. */
async function linesOf(link: Link, answer: IncomingMessage): Promise<string[]> {
  const lines: string[] = [];
  let bytes = 0;
  for await (const one of explained(packetsIn(timely(link, answer)))) {
    if (one.kind !== 'data') continue;
    bytes += one.bytes.length;
    if (bytes > refsMaxBytes) throw gitFailed('The repository has too many branches.');
    lines.push(one.bytes.toString().replace(/\n$/, ''));
  }
  return lines;
}

async function* explained(packets: AsyncIterable<Packet>): AsyncGenerator<Packet> {
  try {
    for await (const one of packets) {
      const words = one.kind === 'data' && one.bytes.subarray(0, 4).toString('latin1') === 'ERR ';
      if (words) {
        const said = plainLine(one.bytes.subarray(4, 1024).toString());
        throw gitFailed(`The git server refuses: ${said}`);
      }
      yield one;
    }
  } catch (error) {
    if (!(error instanceof MalformedPackets)) throw error;
    throw gitFailed('The git server sent what is no answer of git.', error);
  }
}

/** The bytes of an answer, as long as they come. */
export async function* timely(link: Link, answer: IncomingMessage): AsyncGenerator<Uint8Array> {
  const { silenceMs } = link;
  answer.setTimeout(silenceMs, () => answer.destroy(new SilenceError(silenceMs)));
  try {
    yield* answer as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw notReached(link, error);
  } finally {
    answer.destroy();
  }
}
