import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { put } from '../../../../src/store/records/table.ts';
import { openPasswords } from '../../../../src/actors/database/settings/secrets.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { DatabaseFixture } from '../../../support/database-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

describe('a database by programs of the machine', () => {
  let place: DatabaseFixture;
  beforeEach(async () => {
    place = await new DatabaseFixture().open();
  });
  afterEach(() => place.close());

  const jobs = (): string[] =>
    place.driver.started.filter(({ kind }) => kind === 'job').map(({ id }) => id);
  const servers = (): string[] =>
    place.driver.started.filter(({ kind }) => kind === 'service').map(({ id }) => id);
  const live = (id: string): string => place.record(id).run.live ?? '';

  it('is made by a job, a server and its set-up, and is running then', async () => {
    const id = await place.create({ resources: { memoryMb: 256 } });
    assert.equal(place.record(id).status, 'provisioning');
    await place.until(id, 'running');
    assert.deepEqual(jobs(), [`${id}-1`]);
    assert.deepEqual(servers(), [`${id}-2`]);
    assert.equal(place.setUps.length, 1);
    const [, server] = place.driver.started;
    assert.equal(server?.resources.memoryMb, 256);
    assert.equal(server.container, null);
    const { run, version, error } = place.record(id);
    assert.deepEqual([run.made, run.port, version, error], [true, server.port, '18.4', null]);
    await eventually('the job is forgotten', () => place.driver.removed.includes(`${id}-1`));
  });

  it('tells no password in a command, a variable or a reply', async () => {
    const id = await place.create({ password: 'p4ssw0rd-of-ann' });
    await place.until(id, 'running');
    const { adminPassword } = place.setUps[0] ?? { adminPassword: '' };
    assert.equal(adminPassword.length, 32);
    const told = JSON.stringify([place.driver.started, place.logger.records]);
    for (const secret of ['p4ssw0rd-of-ann', adminPassword]) assert.ok(!told.includes(secret));
  });

  it('says why its files could not be made, and begins anew when it is asked to', async () => {
    place.driver.script = () => ({ exitCode: 1 });
    const id = await place.create();
    await place.until(id, 'error');
    assert.match(place.record(id).error ?? '', /files could not be made: It exited with code 1\./);
    assert.ok(place.store.get(tables.alarms, [`database:${id}`, 'recover']));
    const left = join(place.root, id, 'data', 'left');
    await writeFile(left, 'half done');
    place.driver.script = (spec) =>
      spec.kind === 'job' ? { exitCode: 0 } : { probe: 'listening' };
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.ok(!existsSync(left));
    assert.equal(place.record(id).error, null);
    assert.equal(place.store.get(tables.alarms, [`database:${id}`, 'recover']), undefined);
  });

  it('takes up the job that makes its files after a crash', async () => {
    place.driver.script = (spec) => (spec.kind === 'job' ? {} : { probe: 'listening' });
    const id = await place.create();
    await eventually('the job runs', () => jobs().length === 1);
    await place.crash();
    place.driver.end(`${id}-1`, { code: 0 });
    await place.until(id, 'running');
    assert.deepEqual(jobs(), [`${id}-1`]);
  });

  it('takes up the server that was being started after a crash, and sets it up', async () => {
    place.driver.script = (spec) => (spec.kind === 'job' ? { exitCode: 0 } : {});
    const id = await place.create();
    await eventually('the server runs', () => servers().length === 1);
    await place.crash();
    place.driver.setProbe(`${id}-2`, 'listening');
    await place.until(id, 'running');
    assert.deepEqual([jobs().length, servers().length, place.setUps.length], [1, 1, 1]);
  });

  it('begins anew when a crash took what was half made with it', async () => {
    place.driver.script = (spec) => (spec.kind === 'job' ? { exitCode: 0 } : {});
    const id = await place.create();
    await eventually('the server runs', () => servers().length === 1);
    place.driver.lose();
    place.driver.script = (spec) =>
      spec.kind === 'job' ? { exitCode: 0 } : { probe: 'listening' };
    await place.crash();
    await place.until(id, 'running');
    assert.deepEqual([jobs().length, servers().length], [2, 2]);
  });

  it('is in error when it does not answer in time, and says what was seen', async () => {
    place.patienceMs = 400;
    await place.crash();
    place.wellness = { kind: 'unwell', seen: 'it said: no' };
    const id = await place.create();
    await place.until(id, 'error');
    assert.match(place.record(id).error ?? '', /did not answer within 0 s: it said: no\./);
    await eventually('its server is gone', () => place.driver.ids.length === 0);
  });

  it('is waited for longer while it says that it starts', async () => {
    place.patienceMs = 400;
    await place.crash();
    place.wellness = { kind: 'starting', seen: 'it replays its log' };
    const id = await place.create();
    // Looks come further and further apart: behind this many the time has long gone.
    await eventually('it was looked at again and again', () => place.looks >= 7);
    assert.equal(place.record(id).status, 'provisioning');
    place.wellness = { kind: 'well' };
    await place.until(id, 'running');
  });

  it('tries other ports when its own is taken, three at most', async () => {
    place.driver.script = (spec) => (spec.kind === 'job' ? { exitCode: 0 } : { probe: 'foreign' });
    const id = await place.create();
    await place.until(id, 'error');
    assert.match(place.record(id).error ?? '', /Another program listens/);
    const ports = place.driver.started.flatMap(({ port }) => port ?? []);
    assert.equal(new Set(ports).size, 3);
  });

  it('keeps its port, and never has two servers', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    const { port } = place.record(id).run;
    await place.ask(id, { type: 'set-running', running: false });
    assert.equal(place.record(id).status, 'stopped');
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.equal(place.record(id).run.port, port);
    assert.equal(jobs().length, 1);
    assert.deepEqual(place.driver.ids, [live(id)]);
  });

  it('can be stopped while it is started', async () => {
    place.driver.script = (spec) => (spec.kind === 'job' ? {} : { probe: 'listening' });
    const id = await place.create();
    await eventually('the job runs', () => jobs().length === 1);
    assert.equal((await place.ask(id, { type: 'set-running', running: false })).status, 'stopped');
    await eventually('nothing runs', () => place.driver.ids.length === 0);
    assert.equal(place.record(id).run.ending.length, 0);
    assert.equal(servers().length, 0);
  });

  it('is in error while its server waits for its next start, and well when it answers', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    place.driver.crash(live(id), 1);
    await place.until(id, 'error');
    assert.match(place.record(id).error ?? '', /exited with code 1\. It is started again/);
    // It may come behind the news of the end.
    const { password } = openPasswords(place.secrets, place.record(id));
    place.streams.write(`db:${id}`, `LOG: hm\nPANIC:  could not write ${password}\nLOG: gone\n`);
    await eventually('it says why', () => (place.record(id).error ?? '').includes('It said'));
    assert.equal(
      place.record(id).error,
      'It exited with code 1. It said: could not write ••••••••. It is started again.',
    );
    place.driver.revive(live(id), 1);
    await place.until(id, 'running');
    assert.equal(place.record(id).error, null);
    assert.equal(servers().length, 1);
  });

  it('says in its log, once, that its server ended, also when nobody saw it wait', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    const log = (): string => place.streams.text.get(`db:${id}`) ?? '';
    const exit = {
      code: null,
      signal: 'SIGKILL',
      reason: 'exited',
      detail: null,
      atMs: 5,
    } as const;
    place.driver.revive(live(id), 1, exit);
    place.driver.revive(live(id), 1, exit);
    await eventually('it is told', () => log() !== '');
    assert.equal(log(), 'The database was ended by SIGKILL. It runs again.');
    place.driver.crash(live(id), 1, { code: 1, atMs: 9 });
    await eventually('it is told again', () => log().includes('code 1. It is started again.'));
    assert.equal(log().split('SIGKILL').length, 2);
  });

  it('stays in error when its server ends again while an earlier start answers', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    const server = live(id);
    place.driver.crash(server, 1);
    await place.until(id, 'error');
    const { promise: held, resolve: answer } = Promise.withResolvers<undefined>();
    place.held = held;
    const { looks } = place;
    place.driver.revive(server, 1);
    await eventually('it is asked', () => place.looks > looks);
    place.driver.crash(server, 2, { code: 7, atMs: 5 });
    await eventually('it is told', () => (place.record(id).error ?? '').includes('code 7'));
    let asked = 0;
    const inspect = place.driver.inspect.bind(place.driver);
    place.driver.inspect = (one) => {
      asked += 1;
      return inspect(one);
    };
    place.held = null;
    answer(undefined);
    await eventually('it is decided', () => asked > 0 || place.record(id).status === 'running');
    assert.equal(place.record(id).status, 'error');
    place.driver.revive(server, 2);
    await place.until(id, 'running');
  });

  it('is started again when its server is gone for good', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    const first = live(id);
    place.driver.end(first, { code: 3 });
    await eventually('another one runs', () => live(id) !== '' && live(id) !== first);
    place.driver.lose();
    const second = live(id);
    await place.crash();
    await eventually('a third one runs', () => live(id) !== '' && live(id) !== second);
    assert.equal(jobs().length, 1);
  });

  it('ends in trash with its log, and comes back stopped', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    assert.equal(await place.ask(id, { type: 'delete' }), true);
    await eventually('its log ends', () => place.streams.ended.includes(`db:${id}`));
    assert.deepEqual(place.driver.ids, []);
    await assert.rejects(place.ask(id, { type: 'reveal' }), { code: 'NOT_FOUND' });
    await place.ask(id, { type: 'restore' });
    assert.equal(place.record(id).status, 'stopped');
    await assert.rejects(place.ask(id, { type: 'purge' }), { code: 'NOT_FOUND' });
    await place.ask(id, { type: 'delete' });
    await place.ask(id, { type: 'purge' });
    assert.equal(place.store.get(tables.databases, id), undefined);
    assert.ok(!existsSync(join(place.root, id)));
    assert.deepEqual(place.streams.dropped, [`db:${id}`]);
    assert.deepEqual(place.store.list(tables.trash, 'team', ['team_1']), []);
  });

  it('says that the disk is full, and begins anew once there is room', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    place.driver.beforeStart = () => {
      throw full;
    };
    const id = await place.create();
    await place.until(id, 'error');
    assert.equal(place.record(id).error, 'The disk of this server is full.');
    place.driver.beforeStart = () => undefined;
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
  });

  it('goes on by itself when a change in the middle of its making could not be stored', async () => {
    const { store } = place;
    const commit = store.commit.bind(store);
    let refused = 0;
    store.commit = async (request) => {
      const changes = JSON.stringify(request.changes);
      if (refused > 0 || !changes.includes('"next":"db_')) return await commit(request);
      refused += 1;
      // Behind those before it, as a disk answers.
      await new Promise(setImmediate);
      throw new ServiceError('STORAGE_FULL', 'The disk is full.');
    };
    const id = await place.create();
    await place.until(id, 'running');
    assert.equal(refused, 1);
    assert.equal(place.driver.ids.length, 1);
  });

  it('stays in trash while it cannot be removed, and is tried again once its time is over', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    await place.ask(id, { type: 'delete' });
    await eventually('nothing runs', () => place.driver.ids.length === 0);
    let isAway = true;
    place.streams.drop = () =>
      isAway
        ? Promise.reject(new ServiceError('AGENT_UNREACHABLE', 'It is not reached.'))
        : Promise.resolve();
    const dueMs = (): number =>
      place.store.get(tables.alarms, [`database:${id}`, 'purge'])?.atMs ?? 0;
    const before = dueMs();
    await assert.rejects(place.ask(id, { type: 'purge' }), { code: 'AGENT_UNREACHABLE' });
    assert.equal(dueMs(), before);
    const [item] = place.store.list(tables.trash, 'team', ['team_1']);
    assert.ok(item?.purgeAtMs === before);
    const over = { ...item, purgeAtMs: Date.now() };
    await place.store.commit({ actor: '', epoch: 0, changes: [put(tables.trash, over)] });
    await assert.rejects(place.ask(id, { type: 'purge' }), { code: 'AGENT_UNREACHABLE' });
    assert.ok(dueMs() > over.purgeAtMs && dueMs() < before);
    isAway = false;
    await place.ask(id, { type: 'purge' });
    assert.equal(place.store.get(tables.databases, id), undefined);
    assert.equal(dueMs(), 0);
  });

  it('has an address once it has a port', async () => {
    place.driver.script = (spec) => (spec.kind === 'job' ? {} : { probe: 'listening' });
    const id = await place.create();
    await assert.rejects(place.ask(id, { type: 'reveal' }), { code: 'NOT_RUNNING' });
    await eventually('the job runs', () => jobs().length === 1);
    place.driver.end(`${id}-1`, { code: 0 });
    await place.until(id, 'running');
    const port = String(place.record(id).run.port);
    const url = await place.ask(id, { type: 'reveal' });
    assert.match(url, new RegExp(`^postgres://app:[\\w-]{32}@127\\.0\\.0\\.1:${port}/app$`));
  });
});
