import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { DriverWatch, disconnectedMaxMs } from '../../../../src/logs/live/driver-watch.ts';
import type { DriverEvent } from '../../../../src/drivers/driver.ts';
import type { LogName } from '../../../../src/logs/files/log.ts';
import type { Reader } from '../../../../src/store/reader-and-journal.ts';
import { eventually } from '../../../support/eventually.ts';
import { LogBench } from '../../../support/log-bench.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import type { MemorySink } from '../../../support/memory-sink.ts';

const atRest = { live: null, next: null, draining: [], initJob: null, ending: [] };
const logs = {
  app: 'app:app_runs',
  service: 'app:app_runs.worker',
  database: 'db:db_runs',
  idle: 'app:app_idle',
  idleDatabase: 'db:db_idle',
  unknown: 'app:app_gone',
  elsewhere: 'app:app_away',
} satisfies Record<string, LogName>;
type Name = keyof typeof logs;
const names = Object.keys(logs) as Name[];
const running: readonly Name[] = ['app', 'service', 'database'];

let bench: LogBench;
let watch: DriverWatch;
afterEach(() => {
  watch.close();
  bench.remove();
});

function make(mirrored: boolean) {
  bench = new LogBench({ mirrored });
  const clock = new ManualClock();
  const runs = new Map<string, object>([
    ['app_runs', { ...atRest, live: {} }],
    ['app_away', { ...atRest, live: {} }],
    ['db_runs', { ...atRest, initJob: {} }],
    ['app_idle', atRest],
    ['db_idle', atRest],
  ]);
  const get = (_table: unknown, id: string) => {
    const run = runs.get(id);
    return run && { run, serverId: id === 'app_away' ? 'srv_other' : 'srv_here' };
  };
  let hear: (event: DriverEvent) => void = () => undefined;
  const driver = {
    watch: (listener: typeof hear) => {
      hear = listener;
      return () => {
        hear = () => undefined;
      };
    },
  };
  const { streams } = bench;
  const place = { serverId: 'srv_here', driver };
  watch = new DriverWatch({ place, streams, clock, reader: { get } as unknown as Reader });
  watch.start();
  for (const name of names) bench.streams.write(logs[name], 'before\n');
  const open = (name: Name): MemorySink => bench.open({ log: logs[name], notices: true }).sink;
  const sinks = Object.fromEntries(names.map((name) => [name, open(name)])) as Record<
    Name,
    MemorySink
  >;
  return {
    clock,
    runs,
    sinks,
    open,
    /** Once all viewers have what was written before. */
    ready: () => eventually('lines', () => names.every((name) => sinks[name].text === 'before\n')),
    lose: () => hear({ type: 'disconnected' }),
    find: () => hear({ type: 'connected', workloads: [] }),
  };
}

function notices(sink: MemorySink): unknown[] {
  const told = sink.events.filter(({ event }) => event === 'notice');
  return told.map(({ data }) => JSON.parse(data) as unknown);
}

for (const mirrored of [false, true]) {
  const where = mirrored ? ', from a thread that does not feed logs' : '';
  describe(`a place that is not reached${where}`, () => {
    it('is told to who watches what runs there, and that it is back', async () => {
      const { clock, sinks, ready, lose, find } = make(mirrored);
      await ready();
      const lostAtMs = clock.now();
      lose();
      lose();
      await clock.advance(disconnectedMaxMs - 1);
      find();
      const told = [
        { kind: 'unreachable', atMs: lostAtMs },
        { kind: 'reachable', atMs: clock.now() },
      ];
      await eventually('both', () => running.every((name) => notices(sinks[name]).length === 2));
      for (const name of running) assert.deepEqual(notices(sinks[name]), told);
      // The time starts anew.
      lose();
      await clock.advance(disconnectedMaxMs - 1);
      bench.streams.write(logs.app, 'after\n');
      await eventually('the line', () => sinks.app.text === 'before\nafter\n');
      for (const name of names) assert.equal(sinks[name].closed, false);
      for (const name of names) {
        if (!running.includes(name)) assert.deepEqual(notices(sinks[name]), []);
      }
    });

    it('fails them after a minute, and nobody else', async () => {
      const { clock, sinks, open, ready, lose, find } = make(mirrored);
      await ready();
      lose();
      await clock.advance(disconnectedMaxMs);
      await eventually('the end', () => running.every((name) => sinks[name].closed));
      for (const name of running) {
        const last = sinks[name].events.at(-1);
        assert.equal(last?.event, 'failure');
        assert.match(JSON.parse(last.data) as string, /not reached for 60 seconds/);
      }
      // Who comes later begins anew, and knows of nothing.
      const later = open('app');
      find();
      bench.streams.write(logs.app, 'after\n');
      bench.streams.write(logs.idle, 'after\n');
      await eventually('new lines', () => later.text === 'before\nafter\n');
      await eventually('its lines', () => sinks.idle.text === 'before\nafter\n');
      assert.equal(sinks.idle.closed, false);
      assert.equal(sinks.app.text, 'before\n');
    });

    it('gives who reads slowly all lines in front of the failure', async () => {
      const { clock, ready, lose } = make(mirrored);
      await ready();
      const slow = bench.open({ log: logs.app }).sink;
      slow.room = 1;
      bench.streams.write(logs.app, 'late\n');
      await eventually('a full socket', () => slow.room <= 0);
      bench.streams.write(logs.app, 'latest\n');
      lose();
      await clock.advance(disconnectedMaxMs);
      slow.drain();
      await eventually('the end', () => slow.closed);
      assert.equal(slow.text, 'before\nlate\nlatest\n');
      assert.equal(slow.kinds.at(-1), 'failure');
    });

    it('is no matter of what was stopped meanwhile, nor of a service that has ended', async () => {
      const { clock, runs, sinks, ready, lose } = make(mirrored);
      await ready();
      lose();
      runs.set('app_runs', atRest);
      await clock.advance(disconnectedMaxMs);
      await eventually('the end', () => sinks.database.closed);
      await settle();
      assert.equal(sinks.app.closed, false);
      runs.set('app_runs', { ...atRest, live: {} });
      watch.close();
      lose();
      await clock.advance(disconnectedMaxMs);
      bench.streams.write(logs.app, 'after\n');
      await eventually('the line', () => sinks.app.text === 'before\nafter\n');
      assert.equal(sinks.app.closed, false);
    });
  });
}
