/** A team that takes all commands and all consoles of the machine that it can get. */
import assert from 'node:assert/strict';
import os from 'node:os';
import { after, before, describe, it } from 'node:test';

import { systemClock } from '../../src/lib/clock.ts';
import type { Ground } from '../../src/programs/runner/ground.ts';
import { Terminals } from '../../src/programs/runner/terminals.ts';
import { sh, specOf } from '../support/driver-specs.ts';
import { eventually } from '../support/eventually.ts';
import { noLog, type ProcessPlace, processPlace } from '../support/runner.ts';

const share = 16;

describe('a runner of which one team wants everything', () => {
  let place: ProcessPlace;
  before(async () => {
    place = processPlace();
    const serve = { command: sh('exec sleep 100000'), kind: 'service', stopGraceMs: 200 } as const;
    await place.driver.start(specOf({ ...serve, id: 'bad-1', owner: 'app_1', team: 'team_bad' }));
    await place.driver.start(specOf({ ...serve, id: 'bad-2', owner: 'app_2', team: 'team_bad' }));
    await place.driver.start(specOf({ ...serve, id: 'good-1', owner: 'app_3', team: 'team_good' }));
  });
  after(() => place.close());

  const run = (id: string, script: string, signal = new AbortController().signal) =>
    place.driver.exec(
      id,
      { command: sh(script), env: {}, timeoutMs: 60_000, maxBytes: 100 },
      signal,
    );

  it('gives it a quarter of the commands, and others theirs', async () => {
    const over = new AbortController();
    let refused = 0;
    const flood = Array.from({ length: 4 * share }, (_, i) =>
      run(i % 2 === 0 ? 'bad-1' : 'bad-2', 'exec sleep 100000', over.signal).catch(
        (error: unknown) => {
          assert.equal((error as { code?: unknown }).code, 'OVERLOADED');
          refused++;
        },
      ),
    );
    await eventually('the refusals', () => refused === 3 * share);
    const { output } = await run('good-1', 'echo served');
    assert.equal(Buffer.from(output).toString(), 'served\n');
    over.abort();
    await Promise.all(flood);
    await run('bad-1', 'exit 0');
  });
});

describe('terminals of which one team wants all', () => {
  const terminals = new Terminals({ clock: systemClock, logger: noLog, openMax: 8 });
  after(() => terminals.endAll());

  const groundOf = (tenant: string): Ground => ({
    ...{ id: `${tenant}-1`, tenant, dir: os.tmpdir(), mark: tenant, env: {}, uid: null },
    ...{ workingDir: '/', waits: false, part: () => ({ place: null, close: () => undefined }) },
  });
  const open = (tenant: string): Promise<number> =>
    terminals.open(
      groundOf(tenant),
      { command: ['/bin/cat'], env: {}, cols: 80, rows: 24 },
      { output: () => undefined, written: () => undefined, exit: () => undefined },
    );

  it('gives it a quarter, and gives back what is closed', async () => {
    const [first] = await Promise.all([open('bad'), open('bad')]);
    await assert.rejects(open('bad'), { code: 'OVERLOADED' });
    await open('good');
    terminals.close(first);
    await open('bad');
    await assert.rejects(open('bad'), { code: 'OVERLOADED' });
  });
});
