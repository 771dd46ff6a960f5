/**
 * An app without a limit of its own takes all the memory that it can get, in ways by which it grows itself and in
 * ways by which nothing that could be ended grows. The bounds are made small for it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { parseMounts } from '../../src/programs/runner/limits/cgroup-files.ts';
import { js, readSome, textOf, until } from '../support/driver-specs.ts';
import { layerSettings } from '../support/layer-settings.ts';
import { needs, programPath } from '../support/programs.ts';
import { type ProcessPlace, processPlace, runnerPid, tempDir } from '../support/runner.ts';

const mebibyte = 2 ** 20;
const small = { all: 320 * mebibyte, team: 160 * mebibyte };
/** What the victim has, all the time. */
const victimMb = 100;

const ways: Record<string, string> = {
  'by its own memory': 'for (;;) { char *p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); }',
  'by files in memory that have no name':
    'int f = memfd_create("x", 0); for (;;) if (write(f, page, sizeof page) < 0) sleep(1);',
  'by many processes':
    'while (fork() >= 0) {} char *p = malloc(4 << 20); memset(p, 1, 4 << 20); pause();',
};
const byFiles =
  'int f = open("/dev/shm/gangway-hog", O_CREAT | O_WRONLY, 0600); for (;;) if (write(f, page, sizeof page) < 0) sleep(1);';

const source = (way: string): string => `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char page[1 << 16];
int main() { memset(page, 1, sizeof page); write(1, "begun\\n", 6); ${way} }`;

/** Holds its memory, and says each second that it is there still. */
const victim = `const all = Array.from({ length: ${String(victimMb)} }, () => Buffer.alloc(${String(mebibyte)}, 1));
setInterval(() => { for (const one of all) one.fill(2); console.log('here ' + process.pid); }, 200);`;

const { v1, v2 } = parseMounts(fs.readFileSync('/proc/self/mountinfo', 'utf8'));
const isV1 = v1.has('memory');
const memoryMount = v1.get('memory') ?? v2?.dir ?? '';
const limitFile = isV1 ? 'memory.limit_in_bytes' : 'memory.max';

for (const held of ['every layer', 'control groups and no namespaces'] as const) {
  describe(`an app that takes all memory, held by ${held}`, { skip: needs('root', 'cc') }, () => {
    const without = layerSettings[held];
    const dir = tempDir();
    let place: ProcessPlace;
    let group: string;
    before(async () => {
      fs.chmodSync(dir, 0o755);
      place = processPlace({ without });
      const team = 'team_victim';
      await place.driver.start(
        place.specOf({
          id: 'victim-1',
          owner: 'app_victim',
          team,
          kind: 'service',
          command: js(victim),
          uid: 220_001,
        }),
      );
      await until('the victim', async () => (await heard('victim-1')).includes('here'));
      group = groupOf(place);
    });
    after(async () => {
      await place.close();
      fs.rmSync(dir, { recursive: true });
      fs.rmSync('/dev/shm/gangway-hog', { force: true });
    });

    const heard = async (id: string): Promise<string> => textOf(await readSome(place.driver, id));
    const limitOf = (name: string): number =>
      Number(fs.readFileSync(path.join(group, name, limitFile), 'latin1'));
    const setLimit = (name: string, bytes: number): void => {
      fs.writeFileSync(path.join(group, name, limitFile), String(bytes));
    };

    it('leaves the machine a part, and others theirs as soon as there are two teams', async () => {
      assert.ok(limitOf('.') < os.totalmem() - 2 ** 28, 'of all');
      assert.equal(limitOf('t-team_victim'), limitOf('.'));
      const command = js('setInterval(() => undefined, 1e9)');
      await place.driver.start(
        place.specOf({
          id: 'other-1',
          owner: 'app_o',
          team: 'team_hog',
          kind: 'service',
          command,
          stopGraceMs: 100,
        }),
      );
      const quarter = limitOf('.') / 4;
      for (const team of ['t-team_victim', 't-team_hog']) {
        assert.ok(Math.abs(limitOf(team) - 3 * quarter) < mebibyte, team);
      }
      await place.driver.remove('other-1');
      assert.equal(limitOf('t-team_victim'), limitOf('.'));
      assert.ok(!fs.existsSync(path.join(group, 't-team_hog')));
    });

    // Without a /dev/shm of its own it would fill that of the machine, which its group bounds as well.
    for (const [way, text] of Object.entries({ ...ways, 'by files in /dev/shm': byFiles })) {
      it(`is ended for what it takes ${way}, and nobody else is`, async () => {
        const program = path.join(dir, `hog-${String(Object.keys(ways).indexOf(way))}`);
        fs.writeFileSync(`${program}.c`, source(text));
        const made = spawnSync(programPath('cc') ?? 'cc', ['-w', '-o', program, `${program}.c`]);
        assert.equal(made.status, 0, String(made.stderr));
        const id = `hog-${String(Object.keys(ways).indexOf(way) + 1)}`;
        const runner = await runnerPid(place.dataDir);
        const [first] = /here \d+/.exec(await heard('victim-1')) ?? [];
        // It waits until its bounds are small.
        const command = [
          '/bin/sh',
          '-c',
          `until [ -e ${program}.go ]; do sleep 0.05; done; exec ${program}`,
        ];
        await place.driver.start(
          place.specOf({
            id,
            owner: 'app_hog',
            team: 'team_hog',
            kind: 'service',
            command,
            uid: 220_002,
            stopGraceMs: 100,
          }),
        );
        setLimit('t-team_hog', small.team);
        setLimit('t-team_victim', small.all);
        setLimit('.', small.all);
        fs.writeFileSync(`${program}.go`, '');
        await until('its end', async () => {
          const workload = await place.driver.inspect(id);
          const state = workload?.state;
          if (state?.phase === 'waiting')
            return state.lastExit.cause === 'out_of_memory' || undefined;
          return state?.phase === 'running' && state.lastExit?.cause === 'out_of_memory';
        });
        await place.driver.remove(id);
        setLimit('.', 4096 * mebibyte);
        const state = (await place.driver.inspect('victim-1'))?.state;
        assert.deepEqual(
          [state?.phase, state?.phase === 'running' && state.restarts],
          ['running', 0],
        );
        assert.match(await heard('victim-1'), new RegExp(`${first ?? 'none'}\\n`));
        assert.equal(await runnerPid(place.dataDir), runner);
        fs.rmSync('/dev/shm/gangway-hog', { force: true });
      });
    }

    it('goes before everything else where the whole machine is short', async () => {
      const script = `const fs = require('node:fs');
        const own = '/proc/self/oom_score_adj';
        const read = () => fs.readFileSync(own, 'latin1').trim();
        const first = read();
        try { fs.writeFileSync(own, '0'); } catch {}
        console.log('score ' + first + ' ' + read());`;
      const spec = { id: 'score-1', owner: 'app_hog', team: 'team_hog', uid: 220_002 };
      await place.driver.start(place.specOf({ ...spec, command: js(script) }));
      const said = await until('its score', async () =>
        /score .*/.exec(await heard('score-1'))?.at(0),
      );
      // Who sets it without this right of root's does not set the least that it can be set to.
      assert.equal(said, mayHoldScores() ? 'score 500 500' : 'score 500 0');
    });
  });
}

/** The group of all workloads of a data directory. */
function groupOf({ dataDir }: ProcessPlace): string {
  const name = fs.readFileSync(path.join(dataDir, 'runner', 'instance'), 'utf8');
  const own = fs.readdirSync(memoryMount).find((one) => one.startsWith(`gangway-${name}-`));
  return path.join(memoryMount, own ?? 'none');
}

/** CAP_SYS_RESOURCE. */
function mayHoldScores(): boolean {
  const status = fs.readFileSync('/proc/self/status', 'latin1');
  return ((BigInt(`0x${/CapEff:\s*(\S+)/.exec(status)?.[1] ?? '0'}`) >> 24n) & 1n) === 1n;
}
