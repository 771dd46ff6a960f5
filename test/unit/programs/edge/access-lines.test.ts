import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { type Access, AccessLog, accessLine } from '../../../../src/programs/edge/access-lines.ts';
import type { AccessLines } from '../../../../src/protocol/edge-messages.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const access: Access = {
  address: '203.0.113.7',
  startedAtMs: Date.UTC(2026, 10, 4, 9, 30, 5),
  method: 'GET',
  target: '/cart?item=7',
  version: '1.1',
  status: 200,
  bytesIn: 3,
  bytesOut: 1234,
  ms: 12.34,
  requestId: 'r-1',
  host: 'shop.example.com',
  fields: 'Cookie: session=secret\r\nUser-Agent: curl/8\r\nauthorization: Bearer secret\r\n',
};

describe('accessLine()', () => {
  it('tells a request in the combined format, and behind it host, bytes taken, seconds and id', () => {
    assert.equal(
      accessLine(access),
      '203.0.113.7 - - [04/Nov/2026:09:30:05 +0000] "GET /cart?item=7 HTTP/1.1" 200 1234 "-" "curl/8" shop.example.com 3 0.012 r-1\n',
    );
  });

  it('tells a referrer, and nothing of cookies and authorization', () => {
    const fields = `${access.fields}x-referer: no\r\nReferer:https://a.test/\r\n`;
    const line = accessLine({ ...access, fields });
    assert.match(line, /"https:\/\/a\.test\/" "curl\/8"/);
    assert.doesNotMatch(line, /secret/);
  });

  it('stays one line of printable characters, whatever is sent', () => {
    const hostile = 'a\n127.0.0.1 - - "\u001b[2J\\\u00e9\u2028\r\0';
    const line = accessLine({
      ...access,
      address: hostile,
      method: hostile,
      target: `/${hostile}`,
      host: hostile,
      fields: 'user-agent: \u001b]0;x\u0007"quoted" \u00ff\r\n',
    });
    assert.match(line, /^[\x20-\x7e]+\n$/);
    assert.match(line, /"\\x1b\]0;x\\x07\\x22quoted\\x22 \\xff"/);
    assert.equal(line.split('"').length, 7); // Three quoted parts.
  });

  it('cuts a target at 2 KiB, and the fields', () => {
    const line = accessLine({
      ...access,
      target: `/${'t'.repeat(10_000)}`,
      fields: `User-Agent: ${'u'.repeat(10_000)}\r\n`,
    });
    assert.ok(line.includes(`/${'t'.repeat(2047)}... HTTP/1.1`));
    assert.ok(line.includes(`"${'u'.repeat(512)}..."`));
  });

  it('has a dash for an answer that did not come', () => {
    assert.match(accessLine({ ...access, status: 0, bytesOut: 0 }), /" - 0 "-"/);
  });
});

describe('AccessLog', () => {
  let clock: ManualClock;
  let told: AccessLines[];
  let taken: () => void;
  let log: AccessLog;
  beforeEach(() => {
    clock = new ManualClock();
    told = [];
    log = new AccessLog({
      clock,
      tell: (lines, done) => {
        told.push(lines);
        taken = done;
      },
    });
  });
  const linesOf = (at: number, app: string): string[] =>
    (told[at]?.find(([id]) => id === app)?.[1] ?? '').trimEnd().split('\n');

  it('tells together what came within a while', async () => {
    log.add('app_a', access);
    log.add('app_b', access);
    log.add('app_a', access);
    assert.equal(told.length, 0);
    await clock.advance(250);
    assert.deepEqual(
      told[0]?.map(([app]) => app),
      ['app_a', 'app_b'],
    );
    assert.equal(linesOf(0, 'app_a').length, 2);
    await clock.advance(10_000);
    assert.equal(told.length, 1);
  });

  it('gathers until what it told was taken', async () => {
    log.add('app_a', access);
    await clock.advance(250);
    log.add('app_a', access);
    await clock.advance(10_000);
    assert.equal(told.length, 1);
    taken();
    await clock.advance(250);
    assert.equal(told.length, 2);
  });

  it('drops what is too much of one app, tells how much that is, and keeps that of others', async () => {
    for (let at = 0; at < 10_000; at++) log.add('app_a', access);
    log.add('app_b', access);
    await clock.advance(250);
    const lines = linesOf(0, 'app_a');
    const kept = lines.length - 1;
    assert.ok(kept > 500 && kept < 2000, String(kept));
    assert.equal(
      lines.at(-1),
      `${String(10_000 - kept)} requests are not in this log: too many came at once`,
    );
    assert.equal(linesOf(0, 'app_b').length, 1);
  });

  it('keeps no more of all apps than of some', async () => {
    const apps = Array.from({ length: 50 }, (_, at) => `app_${String(at)}`);
    for (const app of apps) for (let at = 0; at < 500; at++) log.add(app, access);
    await clock.advance(250);
    const length = (told[0] ?? []).reduce((sum, [, text]) => sum + text.length, 0);
    assert.ok(length < 600 * 1024, String(length));
    assert.equal(told[0]?.length, 50);
  });
});
