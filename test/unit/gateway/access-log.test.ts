import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { AccessLog } from '../../../src/gateway/access-log.ts';
import type { Route } from '../../../src/gateway/transport.ts';
import type { HttpExchange } from '../../../src/gateway/http/exchange.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const hostile = 'a"\\\u0000\n\u001b[31m\u009b2J\u202e\ud800","status":200,"x":"b';
const ending = { status: 200, bytes: 42, aborted: false };

function exchange(more: object = {}): HttpExchange {
  const definition: Route = { method: 'POST', path: '/api/x/:id', handle: () => undefined };
  return {
    definition,
    route: definition.path,
    method: 'POST',
    requestMethod: 'POST',
    requestId: 'abc0001',
    address: '2001:db8::1',
    header: () => '',
    notes: undefined,
    ...more,
  } as unknown as HttpExchange;
}

function start(linesWanted = true) {
  const clock = new ManualClock();
  const written: string[] = [];
  const logged: string[] = [];
  const logger = pino(
    { base: null, timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"` },
    { write: (line) => logged.push(line) },
  );
  const lines = linesWanted ? (text: string): void => void written.push(text) : undefined;
  return { clock, written, logged, log: new AccessLog({ clock, logger, lines }) };
}

describe('AccessLog', () => {
  it('writes the very line the logger would', () => {
    const cases: [HttpExchange, typeof ending, number][] = [
      [exchange(), ending, 1.2345],
      [exchange({ requestMethod: 'HEAD' }), ending, 0],
      [exchange({ requestMethod: 'P"\\\u0001Ü', address: '' }), ending, 1234.56],
      [exchange({ route: '', definition: undefined }), { ...ending, status: 404 }, 3],
      [exchange({ address: 'fe80::1%eth0' }), { ...ending, aborted: true }, 0.04],
      [exchange({ header: () => traceparent }), { ...ending, aborted: true }, 1],
      [exchange({ header: () => 'no "trace"\n' }), ending, 1],
      [exchange({ notes: { rpc: 'tools/call', client: hostile, tool: null } }), ending, 1],
      [exchange({ header: () => traceparent, notes: { tool: 'list_apps' } }), ending, 1],
    ];
    const [past, through] = [start(true), start(false)];
    for (const { log } of [past, through]) for (const one of cases) log.write(...one);
    past.log.flush();
    assert.equal(past.written.join(''), through.logged.join(''));
    assert.equal(through.logged.length, cases.length);
  });

  it('hands lines over together, after a moment at most', async () => {
    const { clock, log, written } = start();
    log.write(exchange(), ending, 1);
    log.write(exchange(), ending, 1);
    assert.equal(written.length, 0);
    await clock.advance(100);
    assert.equal(written.length, 1);
    assert.equal(written[0]?.split('\n').length, 3);
    log.flush();
    assert.equal(written.length, 1);
  });

  it('hands over at once what is long, and nothing where nobody wants lines', () => {
    const { log, written } = start();
    for (let i = 0; i < 400; i++) log.write(exchange(), ending, 1);
    assert.ok(written.length >= 1);
    const { clock, logged } = start();
    const silent = new AccessLog({
      clock,
      logger: pino({}, { write: (line) => logged.push(line) }),
      lines: null,
    });
    silent.write(exchange(), ending, 1);
    silent.flush();
    assert.deepEqual(logged, []);
  });

  it('leaves constant answers to the logger, at debug level', () => {
    const { log, written, logged } = start();
    log.write(exchange({ definition: { constant: {} } }), ending, 1);
    log.flush();
    assert.deepEqual([written, logged], [[], []]);
  });
});
