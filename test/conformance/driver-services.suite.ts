/** Owns what every driver promises of services and jobs that end by themselves, as tests of its suite. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { ended, give, mark, readAll, running, sh, textOf, until } from '../support/driver-specs.ts';
import type { DriverPlace } from './driver.suite.ts';

/** `place` is there once a test runs. */
export function services(place: () => DriverPlace): void {
  describe('a service', () => {
    it('is started again when it ends, with its restarts counted', async () => {
      await place().driver.start(
        place().specOf({ id: 'again-1', command: sh('exit 5'), kind: 'service' }),
      );
      const waiting = await until('a pause', async () => {
        const state = (await place().driver.inspect('again-1'))?.state;
        return state?.phase === 'waiting' && state.restarts >= 1 ? state : undefined;
      });
      assert.equal(waiting.lastExit.code, 5);
      assert.equal(waiting.lastExit.cause, undefined);
      await place().driver.stop('again-1');
      const { exit } = (await ended(place().driver, 'again-1')).state;
      assert.equal(exit.reason, 'stopped');
      // Its next start may have come just before.
      assert.ok(exit.code === 5 || exit.signal !== null, JSON.stringify(exit));
    });

    it('tells where its programs listen, a child of it included', async () => {
      const { driver, node } = place();
      const ports = [await driver.freePort(), await driver.freePort(), await driver.freePort()];
      const [port = 0, open = 0, alone = 0] = ports;
      const listen = (at: number, host: string): string =>
        `require('net').createServer().listen(${String(at)}, '${host}')`;
      const script = `${listen(open, '0.0.0.0')}; ${listen(open + 1, '127.0.0.2')}`;
      const command = sh(
        `'${node}' -e "${script}" & exec '${node}' -e "${listen(alone, '127.0.0.1')}"`,
      );
      await driver.start(place().specOf({ id: 'where-1', command, kind: 'service', port }));
      const found = await until('three listeners', async () => {
        const listeners = await driver.listeners('where-1');
        return listeners.length === 3 ? listeners : undefined;
      });
      const texts = found.map(({ address, port: at }) => `${address} ${String(at)}`);
      assert.deepEqual(
        texts.sort(),
        [`0.0.0.0 ${open}`, `127.0.0.1 ${alone}`, `127.0.0.2 ${open + 1}`].sort(),
      );
      assert.equal(await driver.probe('where-1'), 'silent');
      await driver.remove('where-1');
      assert.deepEqual(await driver.listeners('where-1'), []);
    });

    const again = async (id: string) =>
      until('another run', async () => {
        const state = (await place().driver.inspect(id))?.state;
        return state?.phase === 'running' && state.restarts >= 1 ? state : undefined;
      });

    it('tells how it ended before, also to another client', async () => {
      const sign = `/tmp/gangway-${mark}-end`;
      const command = sh(`until rm ${sign} 2>/dev/null; do sleep 0.05; done; kill -9 $$`);
      await place().driver.start(place().specOf({ id: 'before-1', command, kind: 'service' }));
      const first = await place().driver.inspect('before-1');
      assert.ok(first?.state.phase === 'running' && first.state.lastExit === undefined);
      await give(place().driver, 'before-1', sign);
      const { lastExit } = await again('before-1');
      assert.deepEqual([lastExit?.code, lastExit?.signal], [null, 'SIGKILL']);
      const other = await place().reopen();
      try {
        const seen = (await other.inspect('before-1'))?.state;
        const told = seen?.phase === 'running' || seen?.phase === 'waiting' ? seen.lastExit : null;
        assert.equal(told?.signal, 'SIGKILL');
      } finally {
        await other.close();
      }
      await place().driver.remove('before-1');
    });
  });
}

/** The same for jobs. */
export function jobs(place: () => DriverPlace): void {
  describe('a job', { concurrency: 2 }, () => {
    it('is ended at its deadline, with what it started', async () => {
      const { driver } = place();
      const command = sh('sleep 98781 & echo begun; wait');
      let text = '';
      // The machine says how long it takes to begin: it is given more and more.
      for (let deadlineMs = 1000; text === '' && deadlineMs < 40_000; deadlineMs *= 2) {
        const id = `late-${String(deadlineMs)}`;
        await driver.start(place().specOf({ id, command, deadlineMs }));
        assert.equal((await ended(driver, id)).state.exit.reason, 'deadline');
        assert.deepEqual(running('sleep 98781'), []);
        text = textOf(await readAll(driver, id));
      }
      assert.equal(text, 'begun\n');
    });

    it('takes what it left behind with it', async () => {
      await place().driver.start(
        place().specOf({ id: 'leaves-1', command: sh('setsid sleep 98791 & echo done') }),
      );
      await ended(place().driver, 'leaves-1');
      assert.deepEqual(running('sleep 98791'), []);
    });
  });
}
