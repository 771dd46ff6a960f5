import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { mayPush } from '../../../../src/actors/git/collaborators.ts';
import { CommitStatuses } from '../../../../src/actors/git/commit-statuses.ts';
import { tokenContext } from '../../../../src/actors/git/connection.ts';
import type {
  AppRecord,
  DeploymentRecord,
  GitConnectionRecord,
  PreviewRecord,
} from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { loopbackFetch } from '../../../support/bucket.ts';
import { eventually } from '../../../support/eventually.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const github = {
  token: () => Promise.resolve('a token of GitHub'),
  report: () => Promise.reject(new Error('it is not GitHub')),
};

/** A Gitea that knows `ada` as one who may write. */
describe('a provider, for previews', () => {
  const store = new MemoryStore();
  let server: Server;
  let asked: string[];
  let code: number;

  const connect = (id: string, change: Partial<GitConnectionRecord> = {}): void => {
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const record: GitConnectionRecord = {
      ...{ id, teamId: 'team_1', provider: 'gitea', label: 'Ours', username: null },
      baseUrl: `http://127.0.0.1:${String(port)}`,
      tokenSealed: plainSecrets.seal('token', tokenContext(id)),
      ...{ secretSealed: null, hookHash: id, createdAtMs: 1 },
      ...change,
    };
    store.write([put(tables.gitConnections, record)]);
  };
  beforeEach(async () => {
    [asked, code] = [[], 200];
    server = createServer((request, response) => {
      asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
      const permission = request.url?.includes('/ada/') === true ? 'write' : 'read';
      request.resume();
      response.writeHead(code).end(JSON.stringify({ permission }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    connect('gc_1');
    connect('gc_foreign', { teamId: 'team_2' });
    connect('gc_open', { tokenSealed: null });
  });
  afterEach(() => server.close());

  const parts = () => {
    const logger = recordingLogger();
    const common = { reader: store, secrets: plainSecrets, fetch: loopbackFetch, logger };
    return { ...common, github, clock: systemClock };
  };

  it('tells who may push, and where it does not, nobody may', async () => {
    const may = (pusher: string | null, connectionId: string | null = 'gc_1'): Promise<boolean> => {
      const of = { teamId: 'team_1', connectionId, repository: 'acme/shop', pusher };
      return mayPush(parts(), of as PreviewRecord);
    };
    assert.deepEqual([await may('ada'), await may('eve')], [true, false]);
    asked = [];
    for (const odd of [null, '.', '..']) assert.equal(await may(odd), false);
    assert.deepEqual(asked, []);
    // A token that is not told, and none.
    code = 403;
    assert.deepEqual([await may('eve'), await may('eve', 'gc_open')], [true, true]);
    code = 500;
    assert.equal(await may('ada'), false);
    code = 200;
    for (const id of ['gc_none', 'gc_foreign', null]) assert.equal(await may('ada', id), false);
  });

  it('gets the address of a preview as the status of its commit, and of nothing else', async () => {
    const tell = (app: object, connectionId = 'gc_1'): void => {
      const git = { connectionId, repository: 'acme/shop', branch: 'x', path: null };
      const deployment = { id: 'dpl', commitSha: 'ab', status: 'ready', url: 'http://x' };
      new CommitStatuses(parts()).tell(
        { id: 'app', teamId: 'team_1', slug: 'x-shop', git, ...app } as AppRecord,
        deployment as DeploymentRecord,
      );
    };
    const previewOf = { appId: 'app_1', branch: 'x', commitSha: 'ab' };
    code = 201;
    tell({});
    tell({ previewOf }, 'gc_foreign');
    tell({ previewOf }, 'gc_open');
    tell({ previewOf });
    await eventually('told', () => asked.length > 0);
    assert.deepEqual(asked, ['POST /api/v1/repos/acme/shop/statuses/ab']);
  });
});
