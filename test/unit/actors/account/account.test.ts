import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { authAdapter } from '../../../../src/auth/sign-in/better-auth-adapter.ts';
import { accountActor, directory } from '../../../../src/actors/account/protocol.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;
let adapter: ReturnType<ReturnType<typeof authAdapter>>;

beforeEach(() => {
  given = new AccountsFixture();
  adapter = authAdapter({ reader: given.store, actors: given.runtime })({});
});

afterEach(() => given.close());

function createUser(email: string): Promise<{ id: string }> {
  const dated = { createdAt: new Date(), updatedAt: new Date() };
  const data = { email, name: email, emailVerified: false, ...dated };
  return adapter.create({ model: 'user', data });
}

function createCode(value: string): Promise<{ id: string }> {
  const dated = { createdAt: new Date(), updatedAt: new Date(), expiresAt: new Date(1e15) };
  return adapter.create({ model: 'verification', data: { identifier: 'code', value, ...dated } });
}

const code = [{ field: 'identifier', value: 'code' }];

describe('account actor behind the adapter', () => {
  it('lets one of many redeem a single-use record', async () => {
    await createCode('once');
    const redeemed = await Promise.all(
      Array.from({ length: 20 }, () => adapter.consumeOne({ model: 'verification', where: code })),
    );
    assert.equal(redeemed.filter((one) => one !== null).length, 1);
  });

  it('keeps addresses unique without regard to case', async () => {
    await createUser('ada@example.org');
    await assert.rejects(createUser('ADA@example.org'), { code: 'CONFLICT' });
  });

  it('stores dates as milliseconds and gives dates back', async () => {
    const { id } = await createUser('ada@example.org');
    const stored = given.store.get(tables.auth, ['user', id]);
    assert.ok(stored);
    assert.equal(typeof stored.fields['createdAt'], 'number');
    assert.deepEqual(stored.dates.toSorted(), ['createdAt', 'updatedAt']);
    const where = [{ field: 'id', value: id }];
    const found = await adapter.findOne<{ createdAt: Date }>({ model: 'user', where });
    assert.ok(found?.createdAt instanceof Date);
  });

  it('commits a transaction whole, seeing itself before and nobody else seeing it', async () => {
    const position = given.store.position;
    await adapter.transaction(async (open) => {
      const data = { email: 'ada@example.org', name: 'Ada', emailVerified: false };
      const user = await open.create({ model: 'user', data });
      await open.update({
        model: 'user',
        where: [{ field: 'email', value: 'ada@example.org' }],
        update: { name: 'Countess' },
      });
      const where = [{ field: 'id', value: (user as unknown as { id: string }).id }];
      const seen = await open.findOne<{ name: string }>({ model: 'user', where });
      assert.equal(seen?.name, 'Countess');
      assert.equal(await adapter.count({ model: 'user' }), 0);
    });
    assert.equal(given.store.position, position + 1);
    const found = await adapter.findMany<{ name: string }>({ model: 'user' });
    assert.deepEqual(
      found.map((user) => user.name),
      ['Countess'],
    );
  });

  it('fails a transaction whose ground somebody else took, leaving nothing of it', async () => {
    await createCode('once');
    const lost = adapter.transaction(async (open) => {
      await open.create({ model: 'user', data: { email: 'eve@example.org', name: 'Eve' } });
      assert.ok(await open.consumeOne({ model: 'verification', where: code }));
      assert.ok(await adapter.consumeOne({ model: 'verification', where: code }));
    });
    await assert.rejects(lost, { code: 'CONFLICT' });
    assert.equal(await adapter.count({ model: 'user' }), 0);
  });

  it('finds a record among many pages', async () => {
    for (let i = 0; i < 601; i++) {
      const record = { model: 'thing', id: `thing_${i}`, fields: { kind: 'same' }, dates: [] };
      given.store.write([{ op: 'put', table: 'auth', key: ['thing', record.id], value: record }]);
    }
    const where = [
      {
        field: 'kind',
        value: 'same',
        operator: 'eq',
        connector: 'AND',
        insensitive: false,
      } as const,
    ];
    const [removed] = await given.runtime.ask(accountActor.at(directory), {
      type: 'write',
      writes: [{ op: 'delete', model: 'thing', where, one: false }],
    });
    assert.equal(removed?.length, 601);
    assert.equal(given.store.count(tables.auth, 'model', ['thing']), 0);
  });
});
