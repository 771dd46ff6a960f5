import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../../../src/lib/errors.ts';
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
