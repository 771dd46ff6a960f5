import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeValue, encodeRecord, encodeValue } from '../../../../src/store/records/codec.ts';
import type { AlarmRecord, MemberRecord } from '../../../../src/store/records/records.ts';
import { shapes } from '../../../../src/store/records/shapes.ts';

const member: MemberRecord = { teamId: 't', userId: 'u', roleId: 'r', joinedAtMs: 1 };
const alarm: AlarmRecord = { actor: 'app:1', name: 'purge', atMs: 2, message: { type: 'purge' } };

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Buffer => Buffer.from(text, 'hex');

describe('codec', () => {
  it('reads back what it wrote, with names or without', () => {
    const values = [member, { ...member, extra: 65 }, { a: { b: [70, null, 'x'] } }, {}];
    for (const value of values) {
      assert.deepEqual(decodeValue(encodeRecord('members', value)), value);
      assert.deepEqual(decodeValue(encodeValue(value)), value);
    }
  });

  it('leaves the names of a known shape out, in whatever order they come', () => {
    const turned = Object.fromEntries(Object.entries(member).reverse());
    assert.equal(hex(encodeRecord('members', turned)), hex(encodeRecord('members', member)));
    assert.ok(!Buffer.from(encodeRecord('members', member)).includes('teamId'));
  });

  it('reads numbers that are shapes elsewhere as numbers', () => {
    for (const atMs of [0x3f, 0x40, 0x50, 0x7f, 0x80]) {
      const record = { ...alarm, atMs, message: { type: 'purge', count: atMs, list: [atMs] } };
      assert.deepEqual(decodeValue(encodeRecord('alarms', record)), record);
      assert.deepEqual(decodeValue(encodeRecord('unknown', record)), record);
    }
  });

  it('takes a record with a field more or less, or with another in its place, as it is', () => {
    const { joinedAtMs, ...less } = member;
    for (const record of [less, { ...member, more: joinedAtMs }, { ...less, joined: joinedAtMs }]) {
      const encoded = encodeRecord('members', record);
      assert.deepEqual(decodeValue(encoded), record);
      assert.ok(Buffer.from(encoded).includes('teamId'));
    }
  });

  it('reads what the first version of the store wrote', () => {
    const stored =
      'de0004a67465616d4964a174a6757365724964a175a6726f6c654964a172aa6a6f696e656441744d7301';
    assert.deepEqual(decodeValue(bytes(stored)), member);
  });

  it('reads shapes as they were first written: they are never changed, moved or taken away', () => {
    assert.deepEqual(decodeValue(bytes('4fa174a175a17201')), member);
    const names = shapes.slice(0, 17).map((shape) => `${shape[0] ?? ''} ${String(shape.length)}`);
    assert.deepEqual(names, [
      'id 27',
      'filename 6',
      'buildCommand 7',
      'memoryMb 4',
      'seq 5',
      'deploymentId 5',
      'id 18',
      'kind 3',
      'id 7',
      'userId 5',
      'userId 4',
      'log 8',
      'actor 4',
      'sessionId 3',
      'id 9',
      'teamId 4',
      'id 15',
    ]);
  });

  it('gives frozen values, and no part of the bytes', () => {
    const source = Buffer.from(encodeRecord('alarms', { ...alarm, message: Buffer.from('abc') }));
    const read = decodeValue(source) as AlarmRecord;
    source.fill(0);
    assert.deepEqual(read.message, Buffer.from('abc'));
    assert.ok(Object.isFrozen(decodeValue(encodeRecord('alarms', alarm))));
    const nested = decodeValue(encodeRecord('alarms', alarm)) as AlarmRecord;
    assert.ok(Object.isFrozen(nested.message));
  });
});
