import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  PasswordRefused,
  ServerRefusal,
} from '../../../../../src/actors/database/engines/engine.ts';
import { tables } from '../../../../../src/store/records/tables.ts';
import { DatabaseFixture } from '../../../../support/database-fixture.ts';
import { eventually } from '../../../../support/eventually.ts';

describe('another password of a database', () => {
  let place: DatabaseFixture;
  let id: string;
  beforeEach(async () => {
    place = await new DatabaseFixture().open();
    id = await place.create();
    await place.until(id, 'running');
  });
  afterEach(() => place.close());

  const reveal = (): Promise<string> => place.ask(id, { type: 'reveal' });

  it('is journaled before the server is told, and counts when it took it', async () => {
    const before = await reveal();
    place.takePassword = () => {
      assert.notEqual(place.record(id).nextPasswordSealed, null);
    };
    const url = await place.ask(id, { type: 'rotate' });
    assert.notEqual(url, before);
    assert.equal(await reveal(), url);
    assert.equal(place.record(id).nextPasswordSealed, null);
  });

  it('is given, with another port, once another program listens on the port', async () => {
    const before = new URL(await reveal());
    const given: string[] = [];
    place.takePassword = (password) => void given.push(password);
    place.driver.squat(place.record(id).run.live ?? '', 0);
    const log = `db:${id}` as const;
    await eventually('a word of it', () =>
      (place.streams.text.get(log) ?? '').includes('Another program listens on its port.'),
    );
    await place.until(id, 'running');
    await eventually('the password', () => place.record(id).nextPasswordSealed === null);
    const now = new URL(await reveal());
    assert.notEqual(now.port, before.port);
    assert.notEqual(now.password, before.password);
    assert.deepEqual(given, [now.password]);
  });

  it('is forgotten when the server refuses it, and another one is made up', async () => {
    const before = await reveal();
    const given: string[] = [];
    place.takePassword = (password) => {
      given.push(password);
      throw new PasswordRefused('It is an old one.');
    };
    const refused = { code: 'NOT_RUNNING', message: /refused .*It is an old one\.$/ };
    await assert.rejects(place.ask(id, { type: 'rotate' }), refused);
    assert.equal(place.record(id).nextPasswordSealed, null);
    assert.equal(place.store.get(tables.alarms, [`database:${id}`, 'rotation']), undefined);
    await place.ask(id, { type: 'set-running', running: false });
    assert.equal(await reveal(), before);
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.equal(await reveal(), before);
    assert.equal(given.length, 1);
    place.takePassword = (password) => {
      const cause = new ServerRefusal(`no disk for ${password}`);
      throw new PasswordRefused(null, { cause });
    };
    await assert.rejects(place.ask(id, { type: 'rotate' }), {
      code: 'NOT_RUNNING',
      message: /keeps the one that it has\. It said: no disk for ••••••••\.$/,
    });
    place.takePassword = (password) => void given.push(password);
    const url = await place.ask(id, { type: 'rotate' });
    assert.equal(new URL(url).password, given[1]);
    assert.notEqual(given[0], given[1]);
  });

  it('is the same one for a server that gave no answer first', async () => {
    const given: string[] = [];
    place.takePassword = (password) => {
      given.push(password);
      throw new Error('the connection was closed');
    };
    await assert.rejects(place.ask(id, { type: 'rotate' }), { code: 'NOT_RUNNING' });
    place.takePassword = (password) => void given.push(password);
    const url = await place.ask(id, { type: 'rotate' });
    assert.equal(new URL(url).password, given[1]);
    assert.equal(given[0], given[1]);
  });

  it('is not shown, nor the one before, while nobody knows which of them the server has', async () => {
    place.patienceMs = 400;
    await place.crash();
    let tries = 0;
    // Cut off, and later without an answer.
    place.takePassword = async (_password, signal) => {
      tries += 1;
      if (tries === 1) throw new Error('the connection was closed');
      await once(signal, 'abort');
      signal.throwIfAborted();
    };
    await assert.rejects(place.ask(id, { type: 'rotate' }), { code: 'NOT_RUNNING' });
    const unknown = { code: 'NOT_RUNNING', message: /in a while/ };
    await assert.rejects(reveal(), unknown);
    await assert.rejects(place.ask(id, { type: 'client', statement: null }), unknown);
    assert.equal(tries, 3);
    let given = '';
    place.takePassword = (password) => {
      given = password;
    };
    assert.equal(new URL(await reveal()).password, given);
  });

  it('is gone on with after a crash', async () => {
    place.takePassword = () => {
      throw new Error('busy');
    };
    await assert.rejects(place.ask(id, { type: 'rotate' }), { code: 'NOT_RUNNING' });
    let given = '';
    place.takePassword = (password) => {
      given = password;
    };
    await place.crash();
    await eventually('it is taken', () => place.record(id).nextPasswordSealed === null);
    assert.equal(new URL(await reveal()).password, given);
  });

  it('is shown as the server has it, when a crash came before that was known', async () => {
    let taken = '';
    place.takePassword = async (password) => {
      taken = password;
      await new Promise(() => undefined);
    };
    place.ask(id, { type: 'rotate' }).catch(() => undefined);
    await eventually('the server has it', () => taken !== '');
    place.takePassword = (password) => {
      assert.equal(password, taken);
    };
    await place.crash();
    assert.equal(new URL(await reveal()).password, taken);
    assert.equal(place.record(id).nextPasswordSealed, null);
  });

  it('is shown when it runs again, where it was stopped before it was known', async () => {
    let given = '';
    place.takePassword = (password) => {
      given = password;
      throw new Error('it ended');
    };
    await assert.rejects(place.ask(id, { type: 'rotate' }), { code: 'NOT_RUNNING' });
    await place.ask(id, { type: 'set-running', running: false });
    await assert.rejects(reveal(), { code: 'NOT_RUNNING', message: /not known before it runs/ });
    place.takePassword = () => undefined;
    await place.ask(id, { type: 'set-running', running: true });
    await place.until(id, 'running');
    assert.equal(new URL(await reveal()).password, given);
    assert.equal(place.record(id).nextPasswordSealed, null);
  });

  it('goes on as soon as a server that ended by itself is back', async () => {
    const first = place.record(id).run.live ?? '';
    place.takePassword = () => {
      throw new Error('it ended');
    };
    await assert.rejects(place.ask(id, { type: 'rotate' }), { code: 'NOT_RUNNING' });
    place.driver.crash(first, 1);
    await place.until(id, 'error');
    place.takePassword = () => undefined;
    place.driver.revive(first, 1);
    await eventually('it is taken', () => place.record(id).nextPasswordSealed === null);
  });

  it('is refused while it does not run', async () => {
    await place.ask(id, { type: 'set-running', running: false });
    await assert.rejects(place.ask(id, { type: 'rotate' }), { code: 'NOT_RUNNING' });
    const client = { type: 'client', statement: null } as const;
    await assert.rejects(place.ask(id, client), { code: 'NOT_RUNNING' });
    assert.equal(place.record(id).nextPasswordSealed, null);
  });
});
