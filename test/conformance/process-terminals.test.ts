import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Terminal } from '../../src/drivers/driver.ts';
import { readAll, running, sh, specOf, textOf, until } from '../support/driver-specs.ts';
import { processesOf } from '../support/processes.ts';
import { needs } from '../support/programs.ts';
import { processPlace } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';
import { run } from './driver-terminals.suite.ts';

run('the process driver', () => Promise.resolve({ ...processPlace(), specOf }));

const ownUid = 212_345;

function isTerminals({ command }: { command: string }): boolean {
  return command.includes('programs/terminals/main');
}

describe('terminals of the process driver', () => {
  let place: ProcessPlace;
  let text = '';
  let exit: { code: number | null; lost: boolean } | undefined;

  before(() => {
    place = processPlace();
  });
  after(() => place.close());

  const open = (id: string, command: readonly string[] = []): Promise<Terminal> => {
    text = '';
    exit = undefined;
    const spec = { command, cols: 80, rows: 24, env: {} };
    return place.driver.openTerminal(id, spec, {
      output: (bytes) => (text += Buffer.from(bytes).toString()),
      exit: (how) => (exit = how),
    });
  };

  const serve = async (id: string, uid: number | null = null): Promise<void> => {
    const command = sh('exec sleep 100000');
    await place.driver.start(specOf({ id, command, kind: 'service', uid, stopGraceMs: 200 }));
  };

  it('gives its program the uid of the workload alone', { skip: needs('root') }, async () => {
    await serve('own-1', ownUid);
    const terminal = await open('own-1', sh('id -u; id -G; echo by-name > $(tty); sleep 100'));
    await until('it owns the terminal', () => text.includes('by-name'));
    const [uid, groups] = text.split('\r\n');
    assert.deepEqual([uid, groups], [String(ownUid), String(ownUid)]);
    terminal.close();
    const command = ['/usr/bin/id', '-G'];
    const bounds = { env: {}, timeoutMs: 5000, maxBytes: 100 };
    const { signal } = new AbortController();
    const { output } = await place.driver.exec('own-1', { command, ...bounds }, signal);
    assert.equal(Buffer.from(output).toString(), `${String(ownUid)}\n`);
  });

  it('gives no program a descriptor of a terminal that is not its own', async () => {
    await serve('apart-1');
    const others = await Promise.all(
      Array.from({ length: 5 }, () => open('apart-1', ['/bin/cat'])),
    );
    const list = 'ls /proc/self/fd | tr "\\n" " "';
    const terminal = await open('apart-1', sh(`${list}; sleep 100`));
    // The fourth is the folder that ls itself reads.
    await until('the list', () => text.startsWith('0 1 2 3 '));
    assert.equal(text.trim(), '0 1 2 3');
    await place.driver.start(specOf({ id: 'apart-2', command: sh(list) }));
    assert.equal(textOf(await readAll(place.driver, 'apart-2')).trim(), '0 1 2 3');
    for (const one of [...others, terminal]) one.close();
  });

  it('runs nothing of the app before the program', { skip: needs('root') }, async () => {
    const env = {
      PATH: '/usr/bin:/bin',
      BASH_ENV: '/dev/stdin',
      ENV: '/dev/stdin',
      SHELLOPTS: 'xtrace',
    };
    const command = sh('exec sleep 100000');
    const spec = specOf({ id: 'start-1', command, kind: 'service', uid: ownUid, stopGraceMs: 200 });
    await place.driver.start({ ...spec, env });
    const terminal = await open('start-1', ['/bin/echo', 'only this']);
    await until('its end', () => exit);
    assert.equal(text, 'only this\r\n');
    terminal.close();
  });

  it('refuses to attach to the program itself', async () => {
    await serve('attach-1');
    const events = { output: () => undefined, exit: () => undefined };
    await assert.rejects(place.driver.attach('attach-1', { cols: 80, rows: 24 }, events), {
      code: 'BAD_USER_INPUT',
    });
  });

  it('ends what ran on them when the connection is gone', async () => {
    await serve('gone-1');
    const other = await place.reopen();
    const spec = { command: sh('trap "" HUP TERM; sleep 7401'), cols: 80, rows: 24, env: {} };
    let told: { lost: boolean } | undefined;
    await other.openTerminal('gone-1', spec, {
      output: () => undefined,
      exit: (how) => (told = how),
    });
    await until('it runs', () => running('sleep 7401').length > 0);
    await other.close();
    await until('it is gone', () => running('sleep 7401').length === 0);
    assert.equal(told?.lost, true);
  });

  it('tells that they are lost when their process dies, and opens another one then', async () => {
    await serve('host-1');
    await open('host-1', sh('trap "" HUP TERM; sleep 7601'));
    await until('it runs', () => running('sleep 7601').length > 0);
    for (const { pid } of processesOf(place.dataDir).filter(isTerminals)) {
      process.kill(pid, 'SIGKILL');
    }
    assert.equal((await until('its end', () => exit)).lost, true);
    await until('it is gone', () => running('sleep 7601').length === 0);
    const again = await open('host-1', ['/bin/echo', 'here again']);
    await until('its output', () => text.includes('here again'));
    again.close();
  });

  it('tells that a terminal is lost when the runner dies, and opens another one then', async () => {
    await serve('lost-1');
    const terminal = await open('lost-1', sh('trap "" HUP TERM; sleep 7501'));
    await until('it runs', () => running('sleep 7501').length > 0);
    await place.killRunner();
    assert.equal((await until('its end', () => exit)).lost, true);
    terminal.write(Buffer.from('nobody\r'));
    await until('the workload runs again', async () => {
      return (await place.driver.inspect('lost-1'))?.state.phase === 'running';
    });
    assert.ok(running('sleep 7501').length === 0);
    const again = await open('lost-1', ['/bin/echo', 'here again']);
    await until('its output', () => text.includes('here again'));
    again.close();
  });
});
