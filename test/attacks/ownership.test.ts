/** Processes that claim to belong to another workload. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';

import type { Driver } from '../../src/drivers/driver.ts';
import { isMarked, js, readSome, sh, textOf, until } from '../support/driver-specs.ts';
import { layerSettings } from '../support/layer-settings.ts';
import { needs } from '../support/programs.ts';
import { processPlace } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const [victimUid, forgerUid] = [215_001, 215_002];

/** The program of this test that begins with `text`: its number and its environment. */
function find(text: string): { pid: number; variables: string[] } | undefined {
  for (const name of fs.readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const line = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      if (!isMarked(line, text)) continue;
      const variables = fs.readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      return { pid: Number(name), variables };
    } catch {
      // It ended meanwhile.
    }
  }
  return undefined;
}

for (const [held, without] of Object.entries(layerSettings)) {
  describe(
    `an app that carries the marks of another, with ${held}`,
    { skip: needs('root') },
    () => {
      let place: ProcessPlace;
      let driver: Driver;
      before(() => {
        place = processPlace({ without });
        driver = place.driver;
      });
      after(() => place.close());

      /** Resolves with what marks its processes, which only root can read. */
      const victim = async (id: string, program: string, port: number | null = null) => {
        const spec = { id, command: sh(`exec ${program}`), port, uid: victimUid, stopGraceMs: 200 };
        await driver.start(place.specOf({ ...spec, kind: 'service', owner: 'app_victim' }));
        return until('its mark', () =>
          find(program)?.variables.find((one) => one.startsWith('GANGWAY_WORKLOAD=')),
        );
      };
      /** Runs a program with another's mark in its environment, and stays. */
      const forge = (id: string, mark: string, program: string) => {
        const command = sh(`exec env '${mark}' ${program}`);
        const spec = { id, command, uid: forgerUid, stopGraceMs: 200 };
        return driver.start(place.specOf({ ...spec, kind: 'service', owner: 'app_forger' }));
      };

      it('keeps it from no start and no end, and lives on', async () => {
        const mark = await victim('victim-1', 'sleep 98741');
        await forge('forger-1', mark, 'sleep 98742');
        const { pid } = await until('the forger', () => find('sleep 98742'));
        process.kill(find('sleep 98741')?.pid ?? 0, 'SIGKILL');
        await until('the restart', async () => {
          const state = (await driver.inspect('victim-1'))?.state;
          return state?.phase === 'running' && state.restarts === 1;
        });
        await driver.remove('victim-1');
        assert.equal(find('sleep 98742')?.pid, pid);
      });

      it('does not count as the other on its port', async () => {
        const port = await driver.freePort();
        const mark = await victim('victim-2', 'sleep 98743', port);
        const script = `require("net").createServer().listen(${String(port)}, "127.0.0.1", () => console.log("mine"))`;
        await forge('forger-2', mark, `'${process.execPath}' -e '${script}'`);
        await until(
          'it listens',
          async () => textOf(await readSome(driver, 'forger-2')) === 'mine\n',
        );
        // Whoever has a network of its own listens there alone.
        const hasNetwork = await driver.hidesApps?.();
        assert.equal(await driver.probe('victim-2'), hasNetwork === true ? 'silent' : 'foreign');
        assert.deepEqual(await driver.listeners('victim-2'), []);
      });

      it('holds up no command of the other, and is not ended with it', async () => {
        await victim('victim-3', 'sleep 98744');
        const say = async (command: readonly string[]): Promise<string> => {
          const spec = { command: [...command], env: {}, timeoutMs: 20_000, maxBytes: 1000 };
          const told = await driver.exec('victim-3', spec, new AbortController().signal);
          assert.equal(told.exitCode, 0);
          return Buffer.from(told.output).toString().trim();
        };
        const tell = js('console.log(process.env.GANGWAY_SESSION)');
        // Commands are counted, so the mark of the next one is known.
        const next = (await say(tell)).replace(/\d+$/, (number) => String(Number(number) + 1));
        await forge('forger-3', `GANGWAY_SESSION=${next}`, 'sleep 98745');
        const { pid } = await until('the forger', () => find('sleep 98745'));
        assert.equal(await say(tell), next);
        assert.equal(find('sleep 98745')?.pid, pid);
      });
    },
  );
}
