import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';

import type { Driver, Terminal } from '../../src/drivers/driver.ts';
import type { LogEntry } from '../../src/protocol/workload.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import type { DockerPlace } from '../support/docker-place.ts';
import { collectInto, running, sh, textOf, until } from '../support/driver-specs.ts';

describe('terminals of the Docker driver', { skip: needs('docker') }, () => {
  const later = cleanups();
  let daemon: DockerDaemon;
  let place: DockerPlace;

  before(async () => {
    daemon = await ownDaemon({ liveRestore: true });
    later(() => daemon.close());
    place = await dockerPlace({ daemon });
    later(() => place.close());
  });

  const opened = async (
    driver: Driver,
    id: string,
    command: readonly string[],
  ): Promise<{ exits: { lost: boolean }[]; text: () => string; terminal: Terminal }> => {
    const exits: { lost: boolean }[] = [];
    let text = '';
    const events = {
      output: (bytes: Uint8Array): void => {
        text += Buffer.from(bytes).toString();
      },
      exit: (exit: { lost: boolean }): void => {
        exits.push(exit);
      },
    };
    const size = { cols: 80, rows: 24 };
    const terminal =
      command.length > 0
        ? await driver.openTerminal(id, { command, env: {}, ...size }, events)
        : await driver.attach(id, size, events);
    return { exits, text: () => text, terminal };
  };
  const serve = async (id: string): Promise<void> => {
    const command = sh('exec sleep 1000');
    const spec = containerSpec({ id, command, kind: 'service', stopGraceMs: 100 });
    await place.driver.start(spec);
  };

  it('end when their driver is closed, and are told as lost', async () => {
    await serve('term-1');
    const other = await place.reopen();
    const { exits } = await opened(other, 'term-1', sh('trap "" HUP TERM; sleep 98831'));
    await until('it runs', () => running('sleep 98831').length > 0);
    await other.close();
    assert.deepEqual(running('sleep 98831'), []);
    assert.deepEqual(exits, [{ code: null, lost: true }]);
    await place.driver.remove('term-1');
  });

  it('that a killed process left are ended by the next one', async () => {
    await serve('term-2');
    const other = place.open();
    const { exits } = await opened(other, 'term-2', sh('trap "" HUP TERM; sleep 98841'));
    await until('it runs', () => running('sleep 98841').length > 0);
    // As after kill -9: the first one ends nothing any more.
    const next = await place.reopen();
    await until('its end', () => running('sleep 98841').length === 0);
    await until('its exit', () => exits.length === 1);
    await next.close();
    await other.close();
    await place.driver.remove('term-2');
  });

  it('are told as lost when the daemon goes', async () => {
    await serve('term-3');
    const { exits } = await opened(place.driver, 'term-3', sh('echo up; exec sleep 1000'));
    await daemon.stop();
    await until('the loss', () => exits.length === 1);
    assert.equal(exits[0]?.lost, true);
    await daemon.start();
    await place.driver.remove('term-3');
  });

  it('reach the program itself where it has one, and leave it running', async () => {
    const settings = {
      entrypoint: null,
      user: null,
      hostname: null,
      stopSignal: null,
      init: null,
      readOnly: false,
      tty: true,
      tmpfs: [],
      unnamedVolumes: [],
      labels: {},
      health: null,
    };
    const { container } = containerSpec({ id: 'tty-1', command: [] });
    assert.ok(container);
    const spec = containerSpec({ id: 'tty-1', command: ['sh'], kind: 'service' });
    await place.driver.start({
      ...spec,
      container: { ...container, settings },
      stopGraceMs: 100,
    });
    const first = await opened(place.driver, 'tty-1', []);
    first.terminal.write(Buffer.from('kept=yes; stty size\r'));
    await until('its size', () => first.text().includes('24 80'));
    first.terminal.close();
    await until('its end', () => first.exits.length === 1);
    const second = await opened(place.driver, 'tty-1', []);
    second.terminal.resize(100, 30);
    second.terminal.write(Buffer.from('echo "[$kept]"; stty size\r'));
    await until('the same shell', () => second.text().includes('[yes]'));
    await until('the new size', () => second.text().includes('30 100'));
    second.terminal.close();
    const log: LogEntry[] = [];
    const enough = new AbortController();
    const take = (more: readonly LogEntry[]): void => {
      collectInto(log)(more);
      if (textOf(log).includes('24 80\r\n')) enough.abort();
    };
    await place.driver.follow('tty-1', 0, take, enough.signal);
    await place.driver.remove('tty-1');
  });

  it('do not reach a program without one', async () => {
    await serve('term-4');
    await assert.rejects(opened(place.driver, 'term-4', []), { code: 'BAD_USER_INPUT' });
    await place.driver.remove('term-4');
  });
});
