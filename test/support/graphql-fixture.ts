/** A team with apps, a log, and contexts to run GraphQL documents in. */
import type { Actors } from '../../src/actors/runtime/actor.ts';
import { createAccountReads } from '../../src/auth/callers/account-reads.ts';
import type { Accounts } from '../../src/auth/sign-in/accounts.ts';
import { anonymous, type Principal } from '../../src/auth/callers/principal.ts';
import {
  defaultLimits,
  type GraphContext,
  type GraphqlSettings,
  type LiveSource,
  type ReadSide,
} from '../../src/graphql/context.ts';
import type { LogLine, LogName, LogReader } from '../../src/logs/files/log.ts';
import type { AppRecord, DeploymentRecord } from '../../src/store/records/records.ts';
import { put } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { AccountsFixture, person } from './accounts-fixture.ts';

export const settings: GraphqlSettings = {
  publicUrl: 'http://127.0.0.1:3000',
  appsDomain: 'localhost',
  edgePort: 3080,
  edgeTlsPort: null,
  appsWildcard: null,
  hasAppsCertificate: false,
  logMaxDays: 14,
  webhookKey: '00'.repeat(32),
  server: { id: 'srv_local', name: 'local', runtime: 'process', version: '0.1.0' },
};

export const atMs = Date.parse('2026-01-02T03:04:05.678Z');

export class MemoryLogs implements LogReader {
  readonly lines = new Map<LogName, LogLine[]>();

  write(log: LogName, ...texts: string[]): void {
    const lines = this.lines.get(log) ?? [];
    this.lines.set(log, lines);
    for (const text of texts) {
      const bytes = Buffer.from(`${text}\n`);
      lines.push({ offset: lines.length, atMs, stream: 'stdout', bytes });
    }
  }

  range(log: LogName) {
    const lines = this.lines.get(log);
    return lines && { generation: 'g1', firstOffset: 0, nextOffset: lines.length };
  }

  read(log: LogName, from: number, limit: number) {
    const lines = (this.lines.get(log) ?? []).slice(from, from + limit);
    return { lines, gap: 0, nextOffset: from + lines.length };
  }

  offsetAt(): number {
    return 0;
  }

  lastOf(log: LogName, _sourceId: string, _beforeMs: number, count: number) {
    return (this.lines.get(log) ?? []).slice(-count);
  }
}

/** Records made whole, so that every field of the schema has something to say. */
export function appRecord(id: string, teamId: string, more: Partial<AppRecord> = {}): AppRecord {
  return {
    id,
    teamId,
    slug: id.replaceAll('_', '-'),
    name: `Name of ${id}`,
    source: 'UPLOAD',
    status: 'active',
    folderId: null,
    serverId: 'srv_local',
    upload: {
      filename: 'app.tgz',
      sizeBytes: 5_000_000_000,
      sha256: 'ab',
      format: 'tar.gz',
      uploadedAtMs: atMs,
      blob: 'b',
    },
    git: null,
    image: null,
    compose: null,
    build: {
      buildCommand: 'npm run "build"\n',
      startCommand: null,
      dockerfile: null,
      outputDir: null,
      nodeVersion: '22',
      port: 8080,
      healthPath: '/ü',
    },
    resources: { memoryMb: 256, cpus: 0.5, pids: null, replicas: 1 },
    previewBranches: ['feature/*'],
    autoDeploy: true,
    deployHookEnabled: true,
    hookHash: `hash-${id}`,
    hookSealed: new Uint8Array([1]),
    latestDeploymentId: null,
    liveDeploymentId: null,
    run: { seq: 0, live: null, next: null, draining: [], crashing: false },
    desired: 'running',
    uid: 0,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    deletedAtMs: null,
    ...more,
  };
}

export function deploymentRecord(
  id: string,
  app: Pick<AppRecord, 'id' | 'teamId'>,
  more: Partial<DeploymentRecord> = {},
): DeploymentRecord {
  return {
    id,
    appId: app.id,
    teamId: app.teamId,
    status: 'ready',
    trigger: 'dashboard',
    url: null,
    commitSha: null,
    commitMessage: null,
    branch: null,
    error: null,
    upload: null,
    rollbackOf: null,
    release: 'r1',
    plan: { kind: 'node', startCommand: 'node .', staticDir: null },
    createdAtMs: atMs,
    startedAtMs: atMs,
    finishedAtMs: atMs,
    ...more,
  } as DeploymentRecord;
}

export class GraphqlFixture {
  readonly accounts = new AccountsFixture();
  readonly logs = new MemoryLogs();
  readonly limits = defaultLimits;
  readonly read: ReadSide;

  /** `team_a` with an owner, a viewer and apps; `team_b` of somebody else with one app. */
  constructor(apps = 3) {
    const { store } = this.accounts;
    for (const user of ['usr_ann', 'usr_vic', 'usr_bob']) this.accounts.addUser(user);
    this.accounts.addTeam('team_a', 'usr_ann');
    this.accounts.addTeam('team_b', 'usr_bob');
    this.accounts.addMember('team_a', 'usr_vic', 'viewer');
    this.accounts.addFolder('fld_1', 'team_a');
    for (let i = 1; i <= apps; i++) {
      const folderId = i === 2 ? 'fld_1' : null;
      const app = appRecord(`app_${i}`, 'team_a', { folderId, latestDeploymentId: `dpl_${i}b` });
      store.write([
        put(tables.apps, app),
        put(tables.deployments, deploymentRecord(`dpl_${i}a`, app)),
        put(tables.deployments, deploymentRecord(`dpl_${i}b`, app, { status: 'queued' })),
      ]);
    }
    store.write([put(tables.apps, appRecord('app_x', 'team_b'))]);
    this.logs.write('app:app_1', 'one', 'two', 'three', 'four');
    this.logs.write('build:dpl_1a', 'step 1', 'step 2');
    const accounts = createAccountReads(store);
    const metrics = { read: () => [], readTraffic: () => [] };
    this.read = { reader: store, logs: this.logs, metrics, accounts, settings };
  }

  get ann(): Principal {
    return person('usr_ann', 'team_a');
  }

  get viewer(): Principal {
    return person('usr_vic', 'team_a');
  }

  context(principal: Principal = anonymous, write: Partial<WriteParts> = {}): GraphContext {
    return {
      read: this.read,
      write: {
        actors: write.actors ?? this.accounts.runtime,
        accounts: async () => write.accounts ?? refusing,
        live: write.live ?? refusing,
      },
      principal,
      via: 'http',
      call: { http: null, signal: null },
    };
  }

  close(): Promise<void> {
    return this.accounts.close();
  }
}

interface WriteParts {
  actors: Actors;
  accounts: Accounts;
  live: LiveSource;
}

// What a test did not bring must not be needed by it.
const refusing = new Proxy({} as never, {
  get(_target, name) {
    throw new Error(`The test brought nothing for ${String(name)}.`);
  },
});
