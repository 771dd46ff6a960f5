/**
 * What it costs to tell who is calling, with many tokens stored: the authenticator over a real store
 * in this process, then whole requests over HTTP against the bare library.
 */
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import type { ClosableAuthenticator } from '../../src/auth/authenticator.ts';
import { sealSessionCookie, sessionCookieName } from '../../src/auth/session-cookie.ts';
import { newTokenSecret, shownPrefix, tokenHash } from '../../src/auth/token-codec.ts';
import { newTeamChanges } from '../../src/actors/team/new-team.ts';
import type { Actors } from '../../src/actors/runtime/contract.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { AuthRecord, TokenRecord } from '../../src/store/records.ts';
import { openStore } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import { insert } from '../../src/store/table.ts';
import type { Change } from '../../src/store/table.ts';
import { tables } from '../../src/store/tables.ts';
import { median } from '../harness.ts';
import type { Bench, Row, Scenario } from '../harness.ts';
import { againstBare } from '../rounds.ts';

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: console.error,
  fatal: console.error,
};
const userId = 'usr_bench';
const teamId = 'team_bench';
const cookieSecret = 'a secret of the bench that is long enough';
const sessionToken = 'the-session-of-the-bench';
const batch = 2_000;

export const scenario: Scenario = {
  title: 'who is calling, by token and by cookie, with 100,000 tokens stored',
  async run(bench) {
    const count = bench.pick(100_000, 5_000);
    const dir = bench.tempDir();
    const secrets = await seed(dir, count);
    const rows = await inProcess(bench, dir, secrets);
    return [...rows, ...(await overHttp(bench, dir, secrets))];
  },
};

/** A person with a session and many tokens, stored in big commits; the texts of the tokens. */
async function seed(dir: string, count: number): Promise<string[]> {
  const store = await openStore({ dir, logger: silent });
  const epoch = store.nextEpoch('bench:seed');
  const commit = (changes: Change[]): Promise<number> =>
    store.commit({ actor: 'bench:seed', epoch, changes });
  const atMs = Date.now();
  const auth = (model: string, id: string, fields: Record<string, unknown>): Change =>
    insert(tables.auth, { model, id, fields, dates: [] } satisfies AuthRecord);
  await commit([
    auth('user', userId, { email: 'many@example.com', name: 'Many' }),
    auth('session', 'ses_bench', {
      token: sessionToken,
      userId,
      expiresAt: atMs + 86_400_000,
      updatedAt: atMs,
    }),
    ...newTeamChanges({ teamId, name: 'Many', ownerId: userId, atMs, isSlugTaken: () => false }),
  ]);
  const secrets = Array.from({ length: count }, newTokenSecret);
  for (let start = 0; start < count; start += batch) {
    const part = secrets.slice(start, start + batch);
    await commit(part.map((secret, i) => insert(tables.tokens, token(secret, start + i, atMs))));
  }
  await store.close();
  return secrets;
}

function token(secret: string, number: number, atMs: number): TokenRecord {
  return {
    id: `tok_${String(number).padStart(26, '0')}`,
    name: `bench ${String(number)}`,
    userId,
    hash: tokenHash(secret),
    prefix: shownPrefix(secret),
    capabilities: ['view_logs'],
    allTeams: true,
    teamIds: [],
    folderIds: [],
    appIds: [],
    databaseIds: [],
    homeTeamId: teamId,
    createdAtMs: atMs,
    // A use is noted once a minute at most; what is measured here is telling who it is.
    lastUsedAtMs: atMs + 3_600_000,
    expiresAtMs: null,
  };
}

async function inProcess(bench: Bench, dir: string, secrets: readonly string[]): Promise<Row[]> {
  const goal = { against: null, ratio: null, unit: 'us', goal: '<= 5' };
  const plain = { ...goal, goal: '' };
  const rounds = bench.pick(2_000, 200);
  const unknown = Array.from({ length: 1_000 }, newTokenSecret);
  const shuffled = secrets.toSorted(() => Math.random() - 0.5);
  const store = await openStore({ dir, logger: silent });
  const authenticator = authenticatorOf(store);
  const cookieHeader = `${sessionCookieName}=${sealSessionCookie(sessionToken, cookieSecret)}`;
  try {
    const cold = perCall(shuffled.length / 100, (i) => byToken(authenticator, shuffled, i));
    const again = perCall(shuffled.length / 100, (i) => byToken(authenticator, shuffled, i));
    const hot = perCall(rounds, () => byToken(authenticator, secrets, 0));
    const cookie = perCall(rounds, () => {
      const { kind } = authenticator.byCookie(credentials('', cookieHeader));
      if (kind !== 'person') throw new Error('the cookie is nobody');
    });
    const wrong = perCall(rounds / 10, (i) => refused(authenticator, unknown[i % 1_000] ?? ''));
    return [
      { what: 'one token again and again, median', ours: hot, ...goal },
      { what: 'one cookie again and again, median', ours: cookie, ...goal },
      { what: `${number(secrets)} tokens in turn, the first time`, ours: cold, ...plain },
      { what: `${number(secrets)} tokens in turn, once more`, ours: again, ...plain },
      { what: 'tokens that are not known', ours: wrong, ...plain },
    ];
  } finally {
    authenticator.close();
    await store.close();
  }
}

function authenticatorOf(store: Store): ClosableAuthenticator {
  // Uses are not written here: nothing is told to anybody.
  const actors = { tell: () => undefined, ask: () => new Promise(() => undefined) } as Actors;
  return createAuthenticator({
    reader: store,
    subscribe: (listener) => store.subscribe(listener),
    actors,
    clock: systemClock,
    log: silent,
    secret: cookieSecret,
  });
}

function credentials(authorization: string, cookieHeader = '') {
  return { authorization, cookieHeader, team: '', address: '127.0.0.1' };
}

function byToken(
  authenticator: ClosableAuthenticator,
  secrets: readonly string[],
  i: number,
): void {
  const { kind } = authenticator.byToken(credentials(`Bearer ${secrets[i] ?? ''}`));
  if (kind !== 'token') throw new Error('the token is nobody');
}

function refused(authenticator: ClosableAuthenticator, secret: string): void {
  try {
    authenticator.byToken(credentials(`Bearer ${secret}`));
  } catch {
    // As it should be: nobody was given this token.
    return;
  }
  throw new Error('a token that nobody made was taken');
}

/** Median over batches of a hundred calls of what one takes, in microseconds. */
function perCall(batches: number, call: (i: number) => void): number {
  const times: number[] = [];
  for (let start = 0; start < batches; start++) {
    const begun = performance.now();
    for (let i = 0; i < 100; i++) call(start * 100 + i);
    times.push((performance.now() - begun) * 10);
  }
  return median(times);
}

function number(list: readonly unknown[]): string {
  return list.length.toLocaleString('en');
}

async function overHttp(bench: Bench, dir: string, secrets: readonly string[]): Promise<Row[]> {
  const ours = await bench.startGangway({ GANGWAY_DATA_DIR: dir });
  const load = {
    path: '/api/graphql',
    method: 'POST',
    body: JSON.stringify({ query: '{ me { id } }' }),
  } as const;
  const json = { 'content-type': 'application/json' };
  const ways = {
    token: { ...json, authorization: `Bearer ${secrets[0] ?? ''}` },
    cookie: { ...json, cookie: ours.cookie },
  };
  const rows: Row[] = [];
  for (const [way, headers] of Object.entries(ways)) {
    const goals = { throughput: [{ against: 'bare', ratio: 0.4 }] };
    const group = `{ me } by ${way}`;
    rows.push(...(await againstBare(bench, ours, { ...load, headers }, goals, { group })));
  }
  return rows;
}
