/**
 * What an app tries against another one and the machine, on every layer of isolation that can be left out.
 * Each attempt names the layers that withstand it: one of them is enough. Without them it succeeds, which is
 * what `lostWithout` says of them; one that names none fails by the uid alone.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { prepareAppsRoot } from '../../src/drivers/process/apps-root.ts';
import { type IsolationLayer, isolationLayers } from '../../src/protocol/isolation.ts';
import {
  readAll,
  readSome,
  running,
  sh,
  specOf,
  type SpecOverrides,
  textOf,
  until,
} from '../support/driver-specs.ts';
import { eventually } from '../support/eventually.ts';
import { layerSettings } from '../support/layer-settings.ts';
import { needs } from '../support/programs.ts';
import { noLog, processPlace } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const [victimUid, spyUid] = [217_001, 217_002];

interface Attempt {
  what: string;
  layers: readonly IsolationLayer[];
  /** A function of the spy's that returns or resolves with whether it has succeeded; it may throw. */
  script: string;
}

/** `at` is what the test tells the spy: `Aims`. */
const attempts: readonly Attempt[] = [
  {
    what: 'reads the command line of another app',
    layers: ['pid'],
    script: `fs.readdirSync('/proc').filter(Number).some((pid) => {
      try { return fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes(at.password); }
      catch { return false; }
    })`,
  },
  {
    what: 'reads the memory, variables, files and descriptors of another app by its number',
    layers: [],
    script: `['environ', 'maps', 'mem', 'root/etc/hostname', 'fd/0', 'cwd/secret'].some((name) =>
      succeeds(() => fs.readFileSync('/proc/' + at.victim + '/' + name).length > 0 || name === 'mem'))`,
  },
  {
    what: 'ends another app by its number, or the first process that it sees',
    layers: [],
    script: `[at.victim, 1].some((pid) => succeeds(() => process.kill(pid, 'SIGKILL')))`,
  },
  {
    what: 'reads what another app left open to all in its folder',
    layers: [],
    script: `fs.readFileSync(at.open, 'utf8') !== ''`,
  },
  {
    what: 'reads what lies open to all beside the folders of apps',
    layers: ['mount'],
    script: `fs.readFileSync(at.stray, 'utf8') === 'stray'`,
  },
  {
    what: 'reads what another app keeps for itself',
    layers: [],
    script: `fs.readFileSync(at.closed, 'utf8') !== ''`,
  },
  {
    what: 'uncovers the folders of others as root of a user namespace of its own',
    layers: ['mount'],
    script: `execFileSync('unshare', ['--user', '--map-root-user', '--mount', 'sh', '-c',
      'umount ' + at.folders.join(' ') + ' 2>/dev/null; umount -l /tmp 2>/dev/null; cat ' + at.stray],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }) === 'stray'`,
  },
  {
    what: 'puts a link in place of a folder that is mounted for it',
    layers: [],
    script: `['data', 'tmp'].some((name) => succeeds(() => {
      fs.renameSync(at.root + '/' + name, at.root + '/' + name + '.moved');
      fs.symlinkSync('/', at.root + '/' + name);
    }))`,
  },
  {
    what: "reads another app's file in /tmp",
    layers: ['mount'],
    script: `fs.readFileSync('/tmp/' + at.name, 'utf8') === 'theirs\\n'`,
  },
  {
    what: "reads another app's file in /dev/shm",
    layers: ['mount'],
    script: `fs.readFileSync('/dev/shm/' + at.name, 'utf8') === 'theirs\\n'`,
  },
  {
    what: "reads another app's file in /run/lock",
    layers: ['mount'],
    script: `fs.readFileSync('/run/lock/' + at.name, 'utf8') === 'theirs\\n'`,
  },
  {
    what: 'learns which workloads others have by their control groups',
    layers: [],
    script: `['', '/memory', '/pids', '/unified'].some((mount) => succeeds(() =>
      fs.readdirSync('/sys/fs/cgroup' + mount).filter((one) => one.startsWith('gangway-'))
        .some((own) => succeeds(() => fs.readdirSync('/sys/fs/cgroup' + mount + '/' + own).includes('t-team_victim')))))`,
  },
  {
    what: 'finds System V shared memory of another app',
    layers: ['ipc'],
    script: `fs.readFileSync('/proc/sysvipc/shm', 'utf8').split('\\n')
      .some((line) => line.trim().split(/ +/)[7] === String(at.victimUid))`,
  },
  {
    what: 'learns the name of the machine',
    layers: ['uts'],
    script: `os.hostname() === at.hostname`,
  },
  {
    what: "reaches another app's port",
    layers: ['network'],
    script: `reaches({ host: '127.0.0.1', port: at.victimPort })`,
  },
  {
    what: "reaches what listens on the machine's loopback",
    layers: ['network'],
    script: `reaches({ host: '127.0.0.1', port: at.loopbackPort })`,
  },
  {
    what: "reaches another app's socket in the abstract namespace",
    layers: ['network'],
    script: `reaches({ path: '\\0' + at.name })`,
  },
  {
    what: 'reaches the socket of the runner, and the key and the store of the service',
    layers: [],
    script: `succeeds(() => fs.readFileSync(at.dataDir + '/instance.key'))
      || succeeds(() => fs.readdirSync(at.dataDir + '/runner/workloads'))
      || reaches({ path: at.dataDir + '/run/runner.sock' })`,
  },
  {
    what: "becomes root by a set-user-id program of root's",
    layers: ['privileges'],
    script: `execFileSync(at.root + '/data/id', ['-u'], { encoding: 'utf8' }).trim() === '0'`,
  },
  {
    what: 'moves into a control group of others',
    layers: [],
    script: `['/sys/fs/cgroup', '/sys/fs/cgroup/cpu', '/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids'].some((dir) =>
      succeeds(() => fs.writeFileSync(dir + '/cgroup.procs', String(process.pid))))`,
  },
];

interface Aims {
  name: string;
  password: string;
  hostname: string;
  dataDir: string;
  folders: string[];
  root: string;
  open: string;
  closed: string;
  stray: string;
  victim: number;
  victimUid: number;
  victimPort: number;
  loopbackPort: number;
}

/** Prints, as JSON, of each attempt whether it has succeeded. */
const spy = `
const fs = require('node:fs'); const net = require('node:net'); const os = require('node:os');
const { execFileSync } = require('node:child_process');
const at = JSON.parse(process.env.AIMS);
const succeeds = (work) => { try { return work() !== false; } catch { return false; } };
const reaches = (where) => new Promise((resolve) => {
  const socket = net.connect(where).once('error', () => resolve(false));
  socket.once('connect', () => { socket.destroy(); resolve(true); });
  setTimeout(() => resolve(false), 3000).unref();
});
const attempts = [${attempts.map(({ script }) => `() => ${script}`).join(',\n')}];
(async () => {
  const succeeded = [];
  for (const attempt of attempts) {
    try { succeeded.push(await attempt()); } catch { succeeded.push(false); }
  }
  console.log(JSON.stringify(succeeded));
})();`;

const victim = `
const fs = require('node:fs'); const net = require('node:net');
const [, port, name] = process.argv;
for (const dir of ['/tmp/', '/dev/shm/', '/run/lock/']) fs.writeFileSync(dir + name, 'theirs\\n');
require('node:child_process').execFileSync('ipcmk', ['-M', '4096', '-p', '666'], { stdio: 'ignore' });
net.createServer().listen('\\0' + name);
net.createServer().listen(Number(port), '127.0.0.1', () => console.log(process.pid));`;

for (const [setting, without] of Object.entries(layerSettings)) {
  describe(`apps that attack others, held by ${setting}`, { skip: needs('root') }, () => {
    const name = `gangway-layers-${String(process.pid)}-${String(without.length)}`;
    const password = `--password=${name}`;
    let place: ProcessPlace;
    let loopback: net.Server;
    let succeeded: boolean[];
    /** Of the layers that are not left out, those that this machine lacks, and why. */
    let missing: ReadonlyMap<IsolationLayer, string>;
    let appsRoot: string;

    before(async () => {
      place = processPlace({ without });
      fs.writeFileSync(path.join(place.dataDir, 'instance.key'), 'secret', { mode: 0o600 });
      ({ appsRoot } = await prepareAppsRoot({ dataDir: place.dataDir, logger: noLog }));
      fs.writeFileSync(path.join(appsRoot, 'stray'), 'stray', { mode: 0o644 });
      loopback = net.createServer().listen(0, '127.0.0.1');
      const states = (await place.driver.isolation?.()) ?? [];
      missing = new Map(
        states.flatMap(({ layer, missing: why }) =>
          why === null || without.includes(layer) ? [] : [[layer, why]],
        ),
      );
      succeeded = await attack();
    });
    after(async () => {
      loopback.close();
      await place.close();
      for (const dir of ['/tmp', '/dev/shm', '/run/lock'])
        fs.rmSync(path.join(dir, name), { force: true });
    });

    /** As the service makes them: its root is ours, `data` and `tmp` are the app's. */
    function foldersOf(owner: string, uid: number): { root: string; temp: string } {
      const root = path.join(appsRoot, owner);
      fs.mkdirSync(root);
      fs.chownSync(root, 0, uid);
      fs.chmodSync(root, 0o710);
      for (const name of ['data', 'tmp']) {
        fs.mkdirSync(path.join(root, name));
        fs.chownSync(path.join(root, name), uid, uid);
      }
      return { root, temp: path.join(root, 'tmp') };
    }

    const dataOf = (app: string): string => path.join(appsRoot, `app_${app}`, 'data');

    async function start(
      app: string,
      uid: number,
      command: readonly string[],
      { env = {}, ...more }: Partial<SpecOverrides> = {},
    ): Promise<void> {
      const files = foldersOf(`app_${app}`, uid);
      // As root, so that the app could become root by it.
      fs.copyFileSync('/usr/bin/id', path.join(dataOf(app), 'id'));
      fs.chmodSync(path.join(dataOf(app), 'id'), 0o4755);
      await place.driver.start(
        specOf({
          ...{ id: `${app}-1`, owner: `app_${app}`, team: `team_${app}`, uid, command, files },
          ...{ workingDir: dataOf(app), stopGraceMs: 200, ...more },
          env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...env },
        }),
      );
    }

    async function attack(): Promise<boolean[]> {
      const port = await place.driver.freePort();
      const command = [process.execPath, '-e', victim, '--', String(port), name, password];
      await start('victim', victimUid, command, { kind: 'service', port });
      await until('the victim', async () => textOf(await readSome(place.driver, 'victim-1')));
      const theirs = dataOf('victim');
      for (const [file, mode] of [
        ['open', 0o644],
        ['secret', 0o600],
      ] as const) {
        fs.writeFileSync(path.join(theirs, file), 'theirs', { mode });
        fs.chownSync(path.join(theirs, file), victimUid, victimUid);
      }
      const aims: Aims = {
        ...{ name, password, hostname: os.hostname(), dataDir: place.dataDir, victimUid },
        folders: [place.dataDir, appsRoot],
        root: path.join(appsRoot, 'app_spy'),
        open: path.join(theirs, 'open'),
        closed: path.join(theirs, 'secret'),
        stray: path.join(appsRoot, 'stray'),
        // Nought would be whoever asks.
        victim: await until('its pid', () => pidsOf(password).at(-1)),
        victimPort: port,
        loopbackPort: (loopback.address() as net.AddressInfo).port,
      };
      const env = { AIMS: JSON.stringify(aims) };
      await start('spy', spyUid, [process.execPath, '-e', spy], { env });
      const said = textOf(await readAll(place.driver, 'spy-1'));
      assert.match(said, /^\[/, said);
      return JSON.parse(said) as boolean[];
    }

    /** Why what these layers withstand cannot be tried here; undefined where it can. */
    const lacking = (layers: readonly IsolationLayer[]): string | undefined =>
      layers.flatMap((layer) => missing.get(layer) ?? []).at(0);

    for (const layer of isolationLayers.filter((one) => !without.includes(one))) {
      it(`has the layer ${layer}`, (t) => {
        const reason = lacking([layer]);
        if (reason !== undefined) t.skip(`needs the layer ${layer}: ${reason}`);
      });
    }

    for (const [at, { what, layers }] of attempts.entries()) {
      const holding = layers.filter((layer) => !without.includes(layer));
      const isHeld = layers.length === 0 || holding.length > 0;
      it(`${isHeld ? 'no app' : 'an app, as is told,'} ${what}`, (t) => {
        const reason = lacking(holding);
        if (reason !== undefined) {
          t.skip(`needs a layer: ${reason}`);
          return;
        }
        assert.equal(succeeded[at], !isHeld);
      });
    }

    const outlives = without.includes('cgroup') && without.includes('pid');
    it(`${outlives ? 'a process, as is told,' : 'no process'} outlives its app by hiding`, async (t) => {
      const seconds = `9${String(without.length)}771`;
      const sleep = `sleep ${seconds}`;
      const hiding = `setsid env -i /bin/sh -c '${sleep} & exit' & exec ${sleep}1`;
      await start('hider', 217_003, sh(hiding), { kind: 'service' });
      await eventually('both', () => running(sleep).length === 2);
      await place.driver.remove('hider-1');
      const left = running(sleep);
      t.after(() => {
        for (const pid of pidsOf(sleep)) process.kill(pid, 'SIGKILL');
      });
      assert.equal(left.length, outlives ? 1 : 0, left.join('\n'));
    });
  });
}

/** As the machine has them. */
function pidsOf(word: string): number[] {
  return fs
    .readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(word);
      } catch {
        return false; // It ended meanwhile.
      }
    })
    .map(Number)
    .filter((pid) => pid !== process.pid);
}
