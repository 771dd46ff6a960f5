import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { Spool } from '../../../../src/programs/runner/spool.ts';
import { decodeRecords, encodeRecords } from '../../../../src/protocol/log-records.ts';
import { tempDir } from '../../../support/runner.ts';

describe('Spool', () => {
  let dir: string;
  beforeEach(() => {
    dir = tempDir();
  });
  afterEach(() => {
    fs.rmSync(dir, { recursive: true });
  });

  const open = (options: { maxBytes?: number; fileBytes?: number } = {}): Spool =>
    new Spool({ dir, maxBytes: 1_000_000, fileBytes: 200, ...options });

  function append(spool: Spool, from: number, to: number): void {
    for (let i = from; i <= to; i++) {
      const bytes = Buffer.from(`line ${String(i)}\n`);
      spool.append(encodeRecords(bytes, [bytes.length], 'stdout', i), 1);
    }
  }

  function readAll(spool: Spool, afterSeq: number, maxBytes = 100): number[] {
    const seqs: number[] = [];
    for (let seq = afterSeq; ;) {
      const slice = spool.read(seq, maxBytes);
      if (!slice) return seqs;
      for (const entry of decodeRecords(slice.records, slice.firstSeq)) {
        assert.equal(Buffer.from(entry.bytes).toString(), `line ${String(entry.seq)}\n`);
        assert.equal(entry.atMs, entry.seq);
        seqs.push(entry.seq);
        seq = entry.seq;
      }
    }
  }

  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_each, index) => from + index);

  it('gives back all entries in order, from any place, over many files', () => {
    const spool = open();
    assert.equal(spool.lastSeq, 0);
    assert.equal(spool.read(0, 100), undefined);
    append(spool, 1, 100);
    assert.ok(fs.readdirSync(dir).length > 5);
    assert.deepEqual(readAll(spool, 0), range(1, 100));
    assert.deepEqual(readAll(spool, 57), range(58, 100));
    assert.deepEqual(readAll(spool, 30), range(31, 100));
    assert.deepEqual(readAll(spool, 100), []);
    spool.close();
  });

  it('counts on after it is opened again, and cuts a record that was not finished', () => {
    const first = open();
    append(first, 1, 10);
    first.close();
    const newest = fs
      .readdirSync(dir)
      .sort((a, b) => parseInt(a) - parseInt(b))
      .at(-1);
    fs.appendFileSync(path.join(dir, newest ?? ''), Buffer.from([0, 0, 0, 9, 1, 2, 3]));
    const second = open();
    assert.equal(second.lastSeq, 10);
    append(second, 11, 20);
    assert.deepEqual(readAll(second, 0), range(1, 20));
    second.close();
  });

  it('drops the oldest files beyond its bound, and the numbers tell', () => {
    const spool = open({ maxBytes: 1000 });
    append(spool, 1, 200);
    assert.ok(spool.totalBytes <= 1000);
    const rest = readAll(spool, 0);
    assert.ok((rest[0] ?? 0) > 100);
    assert.deepEqual(rest, range(rest[0] ?? 0, 200));
    spool.close();
  });

  it('drops what is acknowledged, file by file, and never gives a number twice', () => {
    const spool = open();
    append(spool, 1, 50);
    spool.acknowledge(50);
    assert.equal(fs.readdirSync(dir).length, 1);
    spool.close();
    const again = open();
    assert.equal(again.lastSeq, 50);
    append(again, 51, 52);
    assert.deepEqual(readAll(again, 50), [51, 52]);
    again.close();
  });

  it('knows how far behind a reader is', () => {
    const spool = open();
    append(spool, 1, 50);
    assert.equal(spool.bytesBehind(50), 0);
    assert.equal(spool.bytesBehind(0), spool.totalBytes);
    assert.ok(spool.bytesBehind(25) < spool.totalBytes);
    spool.close();
  });
});
