import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { RestoreRunRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { DatabaseFixture } from '../../../support/database-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { ScriptedImages } from '../../../support/scripted-images.ts';

describe('a database by an image', () => {
  let images: ScriptedImages;
  let place: DatabaseFixture;
  beforeEach(async () => {
    images = new ScriptedImages();
    place = await new DatabaseFixture(images).open();
  });
  afterEach(() => place.close());

  it('is pulled, and run with a volume of its own in the network of its team', async () => {
    const id = await place.create({ version: '17' });
    await place.until(id, 'running');
    const [pull] = images.pulled;
    assert.deepEqual([pull?.owner, pull?.reference], [id, 'postgres:17-alpine']);
    const [server] = place.driver.started;
    assert.deepEqual([server?.id, server?.kind, server?.uid], [`${id}-1`, 'service', null]);
    assert.deepEqual(server?.container?.volumes, [{ name: `${id}-data`, path: '/data' }]);
    assert.equal(server.container.network, 'team_1');
    assert.equal(server.container.port, 5432);
    assert.deepEqual(server.container.aliases, [`${id.replace('_', '-')}.internal`]);
    // Nothing of an earlier try is taken for a database.
    assert.deepEqual(place.driver.removedVolumes, [`${id}-data`]);
    const [setUp] = place.setUps;
    assert.deepEqual([setUp?.port, setUp?.ownPort], [server.port, 5432]);
  });

  it('keeps its volume once it is made, and its image', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    await place.ask(id, { type: 'set-running', running: false });
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.deepEqual([images.pulled.length, place.driver.removedVolumes.length], [1, 1]);
    await place.ask(id, { type: 'delete' });
    await eventually('nothing runs', () => place.driver.ids.length === 0);
    assert.equal(place.driver.removedVolumes.length, 1);
    await place.ask(id, { type: 'purge' });
    assert.equal(place.driver.removedVolumes.length, 2);
    assert.deepEqual(images.kept, [{ owner: id, images: [] }]);
  });

  const restore = async (id: string): Promise<Readonly<RestoreRunRecord>> => {
    const { run } = await place.ask(id, { type: 'restore-begin' });
    const { root } = place.restores;
    await mkdir(root, { recursive: true });
    await writeFile(
      join(root, run.id),
      gzipSync(Buffer.from(`\x6d\xe2\x99\x81${'archive'.repeat(100)}`, 'latin1')),
    );
    const rights = { configure: false, env: false, upload: false };
    await place.ask(id, { type: 'restore-commit', restoreId: run.id, recoveryKey: null, rights });
    const find = () => place.store.get(tables.restoreRuns, run.id);
    await eventually('the end', () => find()?.status !== 'running');
    const ended = find();
    assert.ok(ended);
    return ended;
  };

  it('has another server beside it for a restore, with a volume of its own and in no network', async () => {
    const id = await place.create({ engine: 'MONGODB' });
    await place.until(id, 'running');
    let during: string[] = [];
    place.restores.onRestore = async ({ control }, _log, signal) => {
      const work = (): Promise<void> => {
        during = place.driver.ids;
        return Promise.resolve();
      };
      await control.beside('fresh', work, signal);
      await control.stop();
      await control.useVolumes({ data: 'fresh' }, null);
      await control.start();
    };
    const { status, log } = await restore(id);
    assert.equal(status, 'success', log.join('\n'));
    assert.deepEqual(during, [`${id}-1`, `${id}-2`]);
    assert.deepEqual(place.driver.ids, [`${id}-3`]);
    const [, beside, next] = place.driver.started;
    assert.deepEqual(beside?.container?.volumes, [{ name: 'fresh', path: '/data/db' }]);
    assert.deepEqual([beside.container.network, beside.container.aliases], [null, []]);
    assert.deepEqual(next?.container?.volumes, [{ name: 'fresh', path: '/data/db' }]);
    assert.equal(next.container.network, 'team_1');
    assert.equal(place.setUps.length, 2, 'the new server has its user');
  });

  it('is left alone by a server beside it that does not come, of which nothing stays', async () => {
    const id = await place.create({ engine: 'MONGODB' });
    await place.until(id, 'running');
    place.driver.script = () => ({ failure: 'no room' });
    place.restores.onRestore = ({ control }, _log, signal) =>
      control.beside('fresh', () => Promise.reject(new Error('not here')), signal);
    const { status, error } = await restore(id);
    assert.equal(status, 'failed', error ?? '');
    assert.deepEqual(place.driver.ids, [`${id}-1`]);
    assert.equal(place.record(id).status, 'running');
  });

  it('removes a server beside it that a crash left', async () => {
    const id = await place.create({ engine: 'MONGODB' });
    await place.until(id, 'running');
    let isBeside = false;
    place.restores.onRestore = ({ control }, _log, signal) => {
      const work = (): Promise<void> => {
        isBeside = true;
        return new Promise(() => undefined);
      };
      return control.beside('fresh', work, signal);
    };
    void restore(id).catch(() => undefined);
    await eventually('it is there', () => isBeside);
    await place.crash();
    await eventually('it is gone', () => place.driver.ids.length === 1);
    assert.deepEqual(place.driver.ids, [`${id}-1`]);
  });

  it('says why its image could not be had, and asks for it again', async () => {
    images.onPull = () => {
      throw new ServiceError('IMAGE_NOT_FOUND', 'There is no image postgres:18-alpine.');
    };
    const id = await place.create();
    await place.until(id, 'error');
    assert.equal(place.record(id).error, 'There is no image postgres:18-alpine.');
    images.onPull = () => ({});
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.equal(images.pulled.length, 2);
  });

  it('is pulled with the logins of its team for the registry of its image alone', async () => {
    const common = { teamId: 'team_1', username: 'ada', createdAtMs: 1 };
    for (const [id, host, teamId] of [
      ['reg_1', 'mirror.example', 'team_1'],
      ['reg_2', 'other.example', 'team_1'],
      ['reg_3', 'mirror.example', 'team_2'],
    ] as const) {
      const sealed = Buffer.from(`registry:${id}|password of ${id}`);
      place.store.write([
        put(tables.registries, { ...common, id, name: id, host, teamId, sealed }),
      ]);
    }
    const id = await place.create({ engine: 'REDIS' });
    await eventually('it is pulled', () => images.pulled.length === 1);
    const login = { host: 'mirror.example', username: 'ada', password: 'password of reg_1' };
    assert.deepEqual(images.pulled[0]?.logins, [login]);
    const told = JSON.stringify([place.streams.text.get(`db:${id}`), place.logger.records]);
    assert.ok(!told.includes('password of'));
  });

  it('tells its log how the pull goes, and what keeps it from being had', async () => {
    images.onPull = () => ({ lines: ['Downloading 1 of 2 MB.'] });
    const id = await place.create();
    await place.until(id, 'running');
    const log = place.streams.text.get(`db:${id}`);
    assert.equal(log, 'Pulling postgres:18-alpine.\nDownloading 1 of 2 MB.');
    images.onPull = () => {
      throw new ServiceError('REGISTRY_REFUSED', 'The registry refused it.');
    };
    const other = await place.create();
    await place.until(other, 'error');
    const said = place.streams.text.get(`db:${other}`);
    assert.equal(said, 'Pulling postgres:18-alpine.\nThe registry refused it.');
  });

  it('is pulled anew after a crash, and not any more when it is deleted', async () => {
    images.onPull = () => ({ held: new Promise(() => undefined) });
    const id = await place.create();
    await eventually('it is pulled', () => images.pulled.length === 1);
    await place.crash();
    await eventually('it is pulled again', () => images.pulled.length === 2);
    assert.equal(place.record(id).status, 'provisioning');
    await place.ask(id, { type: 'delete' });
    await eventually('both were given up', () => images.aborted === 2);
    await place.ask(id, { type: 'purge' });
    assert.deepEqual(place.driver.started, []);
  });

  it('lets go of its volume before it begins anew, when a crash left a server that never ran', async () => {
    place.driver.script = () => ({});
    const id = await place.create();
    await eventually('it is started', () => place.driver.ids.length === 1);
    const inUse: string[][] = [];
    const { driver } = place;
    const removeVolume = driver.removeVolume.bind(driver);
    driver.removeVolume = (name) => {
      inUse.push(driver.ids);
      return removeVolume(name);
    };
    driver.end(`${id}-1`, { reason: 'failed_to_start' });
    driver.script = () => ({ probe: 'listening' });
    await place.crash();
    await place.until(id, 'running');
    assert.deepEqual(inUse, [[]]);
    assert.deepEqual(driver.ids, [`${id}-2`]);
    assert.equal(place.record(id).error, null);
  });

  it('is pulled again when somebody removed its image', async () => {
    const id = await place.create();
    await place.until(id, 'running');
    await place.ask(id, { type: 'set-running', running: false });
    let isThere = false;
    images.onPull = () => {
      isThere = true;
      return {};
    };
    place.driver.script = () =>
      isThere ? { probe: 'listening' } : { failure: 'No such image: ours/it' };
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.equal(images.pulled.length, 2);
    assert.equal(place.record(id).error, null);
  });

  it('has more time for its first start, in which the image makes its files', async () => {
    place.patienceMs = 400;
    await place.crash();
    place.driver.script = () => ({});
    const id = await place.create();
    const server = `${id}-1`;
    await eventually('it is started', () => place.driver.ids.includes(server));
    // The time that a server has to answer goes by.
    const beganAtMs = Date.now();
    await eventually('time goes by', () => Date.now() - beganAtMs > 600);
    assert.equal(place.record(id).status, 'provisioning');
    place.driver.setProbe(server, 'listening');
    await place.until(id, 'running');
    place.driver.script = () => ({});
    await place.ask(id, { type: 'set-running', running: false });
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'error');
    assert.match(place.record(id).error ?? '', /did not answer within 0 s: nothing listened/);
  });

  it('takes the image that the operator named instead', async () => {
    await place.create({ engine: 'REDIS', version: '8.0' });
    await eventually('it is pulled', () => images.pulled.length === 1);
    assert.equal(images.pulled[0]?.reference, 'mirror.example/redis:8.0');
  });

  it('has the versions of its engine and no others', async () => {
    await assert.rejects(place.create({ version: '9' }), {
      code: 'BAD_USER_INPUT',
      message: 'There is no PostgreSQL 9 here. There is: 18, 17, 16, 15, 14.',
    });
    await assert.rejects(place.create({ engine: 'MYSQL', version: '8.4.99' }), {
      code: 'BAD_USER_INPUT',
    });
  });

  it('has a client in its own container', async () => {
    const id = await place.create({ engine: 'MONGODB', password: 'correct horse' });
    await place.until(id, 'running');
    const client = await place.ask(id, { type: 'client', statement: null });
    assert.equal(client.workloadId, `${id}-1`);
    assert.equal(client.command[0], 'mongosh');
    assert.equal(client.env['MONGO_ADDRESS'], '127.0.0.1:27017');
    assert.ok(!client.command.join(' ').includes('correct horse'));
  });
});
