/**
 * Owns data directories full of apps and tokens, made without a request for each: the records that
 * requests would have left are written by the store's own commits, many in each.
 *
 * 1. The store is that of the project which is measured, so that an older one reads what it knows.
 * 2. A record has what the product gives it: own hook, own slug, own uid as long as there are some.
 */
import type * as HookTokens from '../src/actors/app/deploying/hook-token.ts';
import type * as Validate from '../src/actors/app/settings/validate.ts';
import type * as NewTeams from '../src/actors/team/new-team.ts';
import type * as Cookies from '../src/auth/callers/session-cookie.ts';
import type * as TokenCodec from '../src/auth/callers/token-codec.ts';
import type * as Ids from '../src/lib/ids.ts';
import type { Logger } from '../src/lib/log.ts';
import type {
  AppRecord,
  AuthRecord,
  DeploymentRecord,
  TokenRecord,
} from '../src/store/records/records.ts';
import type * as Secrets from '../src/store/secrets.ts';
import type * as Stores from '../src/store/store.ts';
import type * as TableTypes from '../src/store/records/table.ts';
import type { Change } from '../src/store/records/table.ts';
import type * as AllTables from '../src/store/records/tables.ts';
import type { Bench } from './harness.ts';
import type { RequestParts } from './load/requests.ts';

export interface SeedOptions {
  apps: number;
  /** Of the one person, each with all that it takes to read and deploy; default 1. */
  tokens?: number;
}

export interface SeededApp {
  id: string;
  slug: string;
  name: string;
  /** Where its deploy hook is. */
  hookPath: string;
}

export interface Seeded {
  dataDir: string;
  teamId: string;
  apps: SeededApp[];
  /** Texts of the tokens. */
  tokens: string[];
  /** `Cookie` header of the person that all of it belongs to. */
  cookie: string;
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: console.error,
  fatal: console.error,
};
const recordsPerCommit = 2_000;
const dayMs = 86_400_000;
/** Some are left: further apps can be made. */
const uids = { first: 200_000, count: 90_000 };
const userId = 'usr_bench';
const teamId = 'team_bench';
const sessionToken = 'the-session-of-the-bench';

/** What of the measured project makes records. */
interface Parts {
  hooks: typeof HookTokens;
  validate: typeof Validate;
  teams: typeof NewTeams;
  cookies: typeof Cookies;
  codec: typeof TokenCodec;
  ids: typeof Ids;
  secrets: typeof Secrets;
  stores: typeof Stores;
  changes: typeof TableTypes;
  all: typeof AllTables;
}

/** Fills a new data directory; Gangway can be started on it as often as wanted. */
export async function seed(bench: Bench, { apps, tokens = 1 }: SeedOptions): Promise<Seeded> {
  const parts = await partsOf(bench);
  const dataDir = bench.tempDir();
  const store = await parts.stores.openStore({ dir: dataDir, logger: silent });
  try {
    const epoch = store.nextEpoch('bench:seed');
    const commit = async (changes: Change[]): Promise<void> => {
      await store.commit({ actor: 'bench:seed', epoch, changes });
    };
    const atMs = Date.now() - dayMs;
    const box = parts.secrets.openSecretBox({ dir: dataDir });
    await commit(personChanges(parts, atMs));
    const secrets = Array.from({ length: tokens }, parts.codec.newTokenSecret);
    await inBatches(tokens, (i) => [tokenChange(parts, secrets[i] ?? '', i, atMs)], commit);
    const seeded: SeededApp[] = [];
    const newApp = (i: number): Change[] => {
      const { app, changes } = appChanges(parts, box, i, atMs + i);
      seeded.push(app);
      return changes;
    };
    await inBatches(apps, newApp, commit);
    const secret = box.derive('session-cookie').toString('base64url');
    const value = parts.cookies.sealSessionCookie(sessionToken, secret);
    const cookie = `${parts.cookies.sessionCookieName}=${value}`;
    return { dataDir, teamId, apps: seeded, tokens: secrets, cookie };
  } finally {
    await store.close();
  }
}

/** So many of a list, evenly spread over it, always the same ones. */
export function spread<T>(list: readonly T[], count: number): T[] {
  const step = list.length / Math.min(count, list.length);
  return Array.from({ length: Math.min(count, list.length) }, (_, i) => {
    return list[Math.floor(i * step)] as T;
  });
}

/** What senders of hooks put into a body: about so much. */
const hookBody = JSON.stringify({
  ref: 'refs/heads/main',
  after: '0'.repeat(40),
  text: 'x'.repeat(900),
});

/** Calls of the deploy hooks of some of the apps. */
export function hookRequests({ tokens }: Seeded, apps: readonly SeededApp[]): RequestParts[] {
  const [token = ''] = tokens;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return apps.map(({ hookPath }) => ({ path: hookPath, method: 'POST', headers, body: hookBody }));
}

async function partsOf(bench: Bench): Promise<Parts> {
  return {
    hooks: await bench.module('src/actors/app/deploying/hook-token.ts'),
    validate: await bench.module('src/actors/app/settings/validate.ts'),
    teams: await bench.module('src/actors/team/new-team.ts'),
    cookies: await bench.module('src/auth/callers/session-cookie.ts'),
    codec: await bench.module('src/auth/callers/token-codec.ts'),
    ids: await bench.module('src/lib/ids.ts'),
    secrets: await bench.module('src/store/secrets.ts'),
    stores: await bench.module('src/store/store.ts'),
    changes: await bench.module('src/store/records/table.ts'),
    all: await bench.module('src/store/records/tables.ts'),
  };
}

async function inBatches(
  count: number,
  changesOf: (i: number) => Change[],
  commit: (changes: Change[]) => Promise<void>,
): Promise<void> {
  let waiting: Change[] = [];
  for (let i = 0; i < count; i++) {
    waiting.push(...changesOf(i));
    if (waiting.length < recordsPerCommit && i < count - 1) continue;
    await commit(waiting);
    waiting = [];
  }
}

/** A person with a session, who owns a team. */
function personChanges({ changes: { insert }, all: { tables }, teams }: Parts, atMs: number) {
  const auth = (model: string, id: string, fields: Record<string, unknown>): Change =>
    insert(tables.auth, { model, id, fields, dates: [] } satisfies AuthRecord);
  const isSlugTaken = (): boolean => false;
  return [
    auth('user', userId, { email: 'many@example.com', name: 'Many' }),
    auth('session', 'ses_bench', {
      token: sessionToken,
      userId,
      expiresAt: Date.now() + dayMs,
      updatedAt: Date.now(),
    }),
    ...teams.newTeamChanges({ teamId, name: 'Many', ownerId: userId, atMs, isSlugTaken }),
  ];
}

function tokenChange(parts: Parts, secret: string, number: number, atMs: number): Change {
  const { codec } = parts;
  const record: TokenRecord = {
    id: parts.ids.newId('tok', atMs + number),
    name: `bench ${number}`,
    userId,
    hash: codec.tokenHash(secret),
    prefix: codec.shownPrefix(secret),
    capabilities: ['view_logs', 'deploy_apps'],
    allTeams: true,
    teamIds: [],
    folderIds: [],
    appIds: [],
    databaseIds: [],
    homeTeamId: teamId,
    createdAtMs: atMs,
    // A use is noted once a minute at most, and that is not what is measured.
    lastUsedAtMs: Date.now() + dayMs,
    expiresAtMs: null,
  };
  return parts.changes.insert(parts.all.tables.tokens, record);
}

/** An app that was once uploaded and deployed in vain: it can be deployed, and runs nothing. */
function appChanges(
  { hooks, ids, validate, changes: { insert }, all: { tables } }: Parts,
  box: Secrets.SecretBox,
  number: number,
  atMs: number,
): { app: SeededApp; changes: Change[] } {
  const id = ids.newId('app', atMs);
  const deploymentId = ids.newId('dpl', atMs);
  const { token, ...hook } = hooks.newHookToken(box, id);
  const name = `Bench app ${number}`;
  const slug = `bench-app-${number}`;
  const upload = {
    filename: 'app.tar.gz',
    sizeBytes: 1_000,
    sha256: '0'.repeat(64),
    format: 'tar.gz',
    uploadedAtMs: atMs,
    blob: deploymentId,
  } as const;
  const record: AppRecord = {
    id,
    teamId,
    slug,
    name,
    source: 'UPLOAD',
    status: 'error',
    folderId: null,
    serverId: 'srv_local',
    upload,
    git: null,
    image: null,
    compose: null,
    build: validate.emptyBuild,
    resources: validate.emptyResources,
    previewBranches: [],
    autoDeploy: true,
    deployHookEnabled: true,
    ...hook,
    latestDeploymentId: deploymentId,
    liveDeploymentId: null,
    run: { seq: 0, live: null, next: null, draining: [], crashing: false },
    desired: 'stopped',
    uid: process.getuid?.() === 0 && number < uids.count ? uids.first + number : 0,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    deletedAtMs: null,
  };
  const deployment: DeploymentRecord = {
    id: deploymentId,
    appId: id,
    teamId,
    status: 'failed',
    trigger: 'dashboard',
    url: `http://${slug}.localhost:3080`,
    commitSha: null,
    commitMessage: null,
    branch: null,
    error: 'The archive is gone.',
    upload,
    rollbackOf: null,
    release: null,
    plan: null,
    buildJob: null,
    createdAtMs: atMs,
    startedAtMs: atMs,
    finishedAtMs: atMs,
  };
  return {
    app: { id, slug, name, hookPath: `/api/apps/${id}/deploy-hook/${token}` },
    changes: [insert(tables.apps, record), insert(tables.deployments, deployment)],
  };
}
