/**
 * Owns `npm run setup:tests`: installs what tests need of the machine, as root where there is apt-get;
 * elsewhere it says what is missing and how to get it. Ends with 1 while something is missing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { missingPackages } from '../support/programs.ts';

const aptGet = '/usr/bin/apt-get';

function install(packages: readonly string[]): void {
  // A run level without services: none is to be started by being installed.
  const env = { ...process.env, RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' };
  const get = (...args: string[]) =>
    spawnSync(aptGet, ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] }).status ===
    0;
  const fetch = (names: readonly string[]) =>
    get('install', '-y', '--no-install-recommends', ...names);
  get('update');
  if (fetch(packages)) return;
  // Together they fail where one of them does not exist, as on another Debian or processor.
  for (const name of packages) fetch([name]);
}

const missing = missingPackages();
if (missing.length > 0 && process.getuid?.() === 0 && existsSync(aptGet)) {
  console.log(`Installing what tests need: ${missing.join(' ')}`);
  install(missing);
}
const left = missingPackages();
if (left.length === 0) {
  console.log('The programs that tests need are there.');
} else {
  console.log(`Missing, so that tests that need it are skipped: ${left.join(' ')}`);
  console.log(`On Debian, as root: apt-get install --no-install-recommends ${left.join(' ')}`);
  console.log('On other systems, install the packages that go by similar names.');
  process.exitCode = 1;
}
