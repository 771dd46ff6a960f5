import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import type { Pipe } from '../../src/drivers/driver.ts';
import { running, sh, specOf, until } from '../support/driver-specs.ts';
import { processPlace, runnerPid } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';
import { Pieces, run, whole } from './driver-pipes.suite.ts';

run('the process driver', () => Promise.resolve({ ...processPlace(), specOf }));

const mebibyte = 1024 * 1024;

describe('pipes of the process driver', () => {
  let place: ProcessPlace;

  before(async () => {
    place = processPlace();
    const command = sh('exec sleep 100000');
    await place.driver.start(specOf({ id: 'own-1', command, kind: 'service', stopGraceMs: 200 }));
  });
  after(() => place.close());

  const pipe = (script: string, input: AsyncIterable<Uint8Array> | null): Promise<Pipe> =>
    place.driver.pipe(
      'own-1',
      { command: sh(script), env: {} },
      input,
      new AbortController().signal,
    );

  it('opens its input again by name', async () => {
    const { output, ended } = await pipe('cat /dev/stdin; echo err > /dev/stderr', new Pieces(1));
    assert.equal((await whole(output)).length, mebibyte);
    assert.deepEqual(await ended, { exitCode: 0, complaint: 'err\n' });
  });

  it('holds little of what flows in the runner, however much that is', async () => {
    const pid = await runnerPid(place.dataDir);
    const flow = async (): Promise<void> => {
      const { output, ended } = await pipe('cat', new Pieces(32));
      for await (const bytes of output) assert.ok(bytes.length > 0);
      assert.equal((await ended).exitCode, 0);
    };
    await Promise.all([flow(), flow(), flow()]);
    const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
    assert.ok(Number(peak) < 132 * 1024, `the runner took ${String(peak)} kB`);
  });

  it('gives each team a share of those that run', async () => {
    const open = await Promise.all(
      Array.from({ length: 16 }, () => pipe('echo up; cat', new Pieces())),
    );
    await assert.rejects(pipe('cat', null), { code: 'OVERLOADED' });
    for (const { output } of open) {
      for await (const bytes of output) if (bytes.length > 0) break;
    }
    await until('there is room again', () =>
      pipe('cat', null).then(
        ({ output }) => whole(output).then(() => true),
        () => false,
      ),
    );
  });

  it('tells of a runner that is killed midway, and what ran is ended', async () => {
    const { output, ended } = await pipe('sleep 7951 & cat', new Pieces());
    const taking = output[Symbol.asyncIterator]();
    await taking.next();
    await place.replaceRunner('own-1');
    await assert.rejects(
      async () => {
        while ((await taking.next()).done !== true);
      },
      { code: 'AGENT_UNREACHABLE' },
    );
    await assert.rejects(ended, { code: 'AGENT_UNREACHABLE' });
    await until('it is gone', () => running('sleep 7951').length === 0);
  });
});
