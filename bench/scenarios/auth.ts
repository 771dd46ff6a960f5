/**
 * What it costs to tell who is calling, with many tokens stored: the authenticator over a real store
 * in this process, then whole requests over HTTP against the bare library.
 */
import type * as AuthenticatorModule from '../../src/auth/callers/authenticator.ts';
import type { ClosableAuthenticator } from '../../src/auth/callers/authenticator.ts';
import type * as CookieModule from '../../src/auth/callers/session-cookie.ts';
import type * as CodecModule from '../../src/auth/callers/token-codec.ts';
import type * as TeamModule from '../../src/actors/team/new-team.ts';
import type { Actors } from '../../src/actors/runtime/actor.ts';
import type * as ClockModule from '../../src/lib/clock.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { AuthRecord, TokenRecord } from '../../src/store/records/records.ts';
import type * as StoreModule from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import type * as TableModule from '../../src/store/records/table.ts';
import type { Change } from '../../src/store/records/table.ts';
import type * as TablesModule from '../../src/store/records/tables.ts';
import type { Bench, Scenario } from '../harness.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { againstBare } from '../rounds.ts';
import { median } from '../stats.ts';

/** What of the project runs in this process: of the state that is measured, which may be another. */
type Parts = typeof AuthenticatorModule &
  typeof CookieModule &
  typeof CodecModule &
  typeof TeamModule &
  typeof ClockModule &
  typeof StoreModule &
  typeof TableModule &
  typeof TablesModule;

async function partsOf(bench: Bench): Promise<Parts> {
  const files = [
    'src/auth/callers/authenticator.ts',
    'src/auth/callers/session-cookie.ts',
    'src/auth/callers/token-codec.ts',
    'src/actors/team/new-team.ts',
    'src/lib/clock.ts',
    'src/store/store.ts',
    'src/store/records/table.ts',
    'src/store/records/tables.ts',
  ];
  const modules = await Promise.all(files.map((file) => bench.module<Partial<Parts>>(file)));
  return Object.assign({}, ...modules) as Parts;
}

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
    const parts = await partsOf(bench);
    const secrets = await seed(parts, dir, count);
    const rows = await inProcess(bench, parts, dir, secrets);
    return [...rows, ...(await overHttp(bench, dir, secrets))];
  },
};

/** A person with a session and many tokens, stored in big commits; the texts of the tokens. */
async function seed(parts: Parts, dir: string, count: number): Promise<string[]> {
  const { insert, newTeamChanges, newTokenSecret, openStore, tables } = parts;
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
    await commit(
      part.map((secret, i) => insert(tables.tokens, token(parts, secret, start + i, atMs))),
    );
  }
  await store.close();
  return secrets;
}

function token(
  { shownPrefix, tokenHash }: Parts,
  secret: string,
  number: number,
  atMs: number,
): TokenRecord {
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

async function inProcess(
  bench: Bench,
  parts: Parts,
  dir: string,
  secrets: readonly string[],
): Promise<Row[]> {
  const { newTokenSecret, openStore, sealSessionCookie, sessionCookieName } = parts;
  const batches = bench.pick(2_000, 200);
  const unknown = Array.from({ length: 1_000 }, newTokenSecret);
  const cookieHeader = `${sessionCookieName}=${sealSessionCookie(sessionToken, cookieSecret)}`;
  const us: Record<'cold' | 'again' | 'hot' | 'cookie' | 'wrong', number[]> = {
    cold: [],
    again: [],
    hot: [],
    cookie: [],
    wrong: [],
  };
  const store = await openStore({ dir, logger: silent });
  try {
    await bench.eachRound(3, async () => {
      const shuffled = secrets.toSorted(() => Math.random() - 0.5);
      const authenticator = authenticatorOf(parts, store);
      const all = shuffled.length / 100;
      us.cold.push(perCall(all, (i) => byToken(authenticator, shuffled, i)));
      us.again.push(perCall(all, (i) => byToken(authenticator, shuffled, i)));
      us.hot.push(perCall(batches, () => byToken(authenticator, secrets, 0)));
      us.cookie.push(perCall(batches, () => byCookie(authenticator, cookieHeader)));
      us.wrong.push(perCall(batches / 10, (i) => refused(authenticator, unknown[i % 1_000] ?? '')));
      authenticator.close();
    });
  } finally {
    await store.close();
  }
  const group = `in process, ${secrets.length.toLocaleString('en')} tokens stored`;
  const rowOf = (what: string, ours: readonly number[], limit?: number): Row => {
    const goals = limit === undefined ? [] : [{ value: limit }];
    return row({ group, what, unit: 'us/call', better: 'lower', rounds: { ours }, goals });
  };
  return [
    rowOf('one token again and again', us.hot, 5),
    rowOf('one cookie again and again', us.cookie, 5),
    rowOf('all tokens in turn, the first time', us.cold),
    rowOf('all tokens in turn, once more', us.again),
    rowOf('tokens that are not known', us.wrong),
  ];
}

function authenticatorOf(
  { createAuthenticator, systemClock }: Parts,
  store: Store,
): ClosableAuthenticator {
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

function byCookie(authenticator: ClosableAuthenticator, cookieHeader: string): void {
  const { kind } = authenticator.byCookie(credentials('', cookieHeader));
  if (kind !== 'person') throw new Error('the cookie is nobody');
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
