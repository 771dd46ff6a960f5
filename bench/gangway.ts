/** Owns a Gangway under test: its set-up, its GraphQL as the owner, and the end of its runner. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

const endMs = 30_000;
/** A connection that was kept may be closed by the time it is used again, where scenarios keep this process busy. */
export const onceOnly = { connection: 'close' } as const;

export interface Server {
  url: string;
  port: number;
  pid: number;
}

export interface Gangway extends Server {
  /** `Cookie` header of the owner. */
  cookie: string;
  dataDir: string;
  /** Runs a GraphQL document as the owner; throws on any error. */
  graphql<T>(query: string, variables?: object): Promise<T>;
}

export async function graphql<T>(
  url: string,
  cookie: string,
  query: string,
  variables: object = {},
): Promise<T> {
  const response = await fetch(`${url}/api/graphql`, {
    method: 'POST',
    headers: { ...onceOnly, 'content-type': 'application/json', cookie },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await response.json()) as { data?: T; errors?: { message: string }[] };
  if (body.errors !== undefined || body.data === undefined) {
    throw new Error(`${query.slice(0, 60)}: ${JSON.stringify(body)}`);
  }
  return body.data;
}

/** Makes the owner of an empty one; the owner's cookie. */
export async function setUp(url: string): Promise<string> {
  const response = await fetch(`${url}/api/graphql`, {
    method: 'POST',
    headers: { ...onceOnly, 'content-type': 'application/json' },
    body: JSON.stringify({
      query: `mutation { completeSetup(email: "bench@example.com", password: "bench bench bench",
        name: "Bench", teamName: "Bench") { viewer { id } } }`,
    }),
  });
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0];
  if (cookie === undefined) throw new Error(`setup failed: ${await response.text()}`);
  return cookie;
}

export async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { headers: onceOnly })).ok;
  } catch {
    // Nothing listens yet.
    return false;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** The runner outlives Gangway on purpose; a benchmark ends it, found by its data directory. */
export async function endRunner(dataDir: string): Promise<void> {
  for (const name of ['SIGTERM', 'SIGKILL'] as const) {
    let left = pidsOf(dataDir);
    for (const pid of left) signal(pid, name);
    const lateMs = performance.now() + endMs;
    while (left.length > 0 && performance.now() < lateMs) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      left = pidsOf(dataDir);
    }
  }
}

/** Those whose command line names the directory, which is ours alone. */
export function pidsOf(dataDir: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(dataDir) ? [Number(name)] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself meanwhile.
  }
}
