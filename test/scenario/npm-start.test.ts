import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';

import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { Gangway } from '../support/gangway.ts';
import { processesOf, signal } from '../support/processes.ts';

const bundled = fileURLToPath(new URL('../../node_modules/npm/bin/npm-cli.js', import.meta.url));
/** The machine's, by which the tests are run. */
const calling = process.env['npm_execpath'] ?? '';

/** The service itself, of all that was started for it. */
function serviceOf(gangway: Gangway): number {
  const found = processesOf(gangway.dataDir).filter(({ command }) =>
    /^\S*node .*src\/main\.ts serve$/.test(command),
  );
  assert.equal(found.length, 1);
  return found[0]!.pid;
}

type Target = 'npm' | 'service' | 'group';

const start = ['start'];
const run = ['run', 'gangway', '--', 'serve'];
/** Ctrl-C in a terminal is SIGINT to the group. */
const cases: [readonly string[], NodeJS.Signals, Target][] = [
  [start, 'SIGTERM', 'npm'],
  [start, 'SIGINT', 'group'],
  [start, 'SIGTERM', 'service'],
  [run, 'SIGINT', 'npm'],
  [run, 'SIGTERM', 'group'],
  [run, 'SIGINT', 'service'],
];

function describeNpm(title: string, npm: string): void {
  const missing = existsSync(npm) ? false : 'needs to be run by npm';
  describe(title, { skip: missing }, () => {
    for (const [args, name, target] of cases)
      it(`npm ${args.join(' ')} drains and ends by ${name} to ${target}`, async (t) => {
        const gangway = await Gangway.create({ served: [process.execPath, npm, ...args] });
        t.after(() => gangway.end());
        await gangway.start();
        const pid = { npm: gangway.pid, service: serviceOf(gangway), group: -gangway.pid }[target];
        assert.ok(signal(pid, name));
        assert.deepEqual(await gangway.ended(), { code: 0, signal: null });
        assert.deepEqual(
          gangway.logged('draining').map((line) => line['why']),
          [name],
        );
        assert.equal(gangway.logged('stopped').length, 1);
      });
  });
}

describeNpm('the npm that comes with Gangway', bundled);
describeNpm('the npm of the machine', calling);
