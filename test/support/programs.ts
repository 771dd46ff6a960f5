/**
 * Owns what tests need of the machine: programs, where they are, and the packages that bring them.
 *
 * 1. A test that needs what is not there is skipped with its name: `{ skip: needs('zip', 'unzip') }`.
 * 2. GANGWAY_TESTS_SKIP_NOTHING makes it an error instead, as in CI.
 * 3. GANGWAY_TESTS_HIDE names programs that count as missing (`all`: every one), to try 1.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

interface Program {
  /** Of Debian. */
  package: string;
  /** The names it goes by, where that is not its own; one is enough. */
  names?: readonly string[];
  /** What shows the package where the program does not: another may bring that too. */
  shownBy?: string;
}

export const programs = {
  age: { package: 'age' },
  'age-keygen': { package: 'age' },
  busybox: { package: 'busybox-static', shownBy: '/usr/share/doc/busybox-static' },
  cc: { package: 'gcc' },
  certutil: { package: 'libnss3-tools' },
  chromium: { package: 'chromium', names: ['chromium', 'chromium-browser', 'google-chrome'] },
  containerd: { package: 'docker.io' },
  curl: { package: 'curl' },
  'docker-init': { package: 'tini' },
  dockerd: { package: 'docker.io' },
  git: { package: 'git' },
  gzip: { package: 'gzip' },
  ip: { package: 'iproute2' },
  iptables: { package: 'iptables' },
  'linux.uml': { package: 'user-mode-linux' },
  mariadb: { package: 'mariadb-server' },
  mariadbd: { package: 'mariadb-server' },
  mount: { package: 'mount' },
  nsenter: { package: 'util-linux' },
  openssl: { package: 'openssl' },
  pebble: { package: 'pebble' },
  prlimit: { package: 'util-linux' },
  psql: { package: 'postgresql-client' },
  python3: { package: 'python3' },
  'redis-cli': { package: 'redis-server' },
  'redis-server': { package: 'redis-server' },
  runc: { package: 'docker.io' },
  strace: { package: 'strace' },
  tar: { package: 'tar' },
  top: { package: 'procps' },
  unshare: { package: 'util-linux' },
  unzip: { package: 'unzip' },
  vim: { package: 'vim' },
  wrk: { package: 'wrk' },
  zip: { package: 'zip' },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof programs;
/** A program, or: `root`, and `docker` for all that a daemon of the tests' own takes. */
export type Need = ProgramName | 'root' | 'docker';

const ofDocker = ['root', 'dockerd', 'containerd', 'runc', 'docker-init', 'ip', 'busybox'] as const;

/** Why a test that needs these is skipped; false where all of them are there. */
export function needs(...wanted: Need[]): string | false {
  const missing = [...new Set(wanted.flatMap(missingOf))];
  if (missing.length === 0) return false;
  const reason = `needs ${missing.join(', ')}`;
  if (mayNotSkip()) throw new Error(`Nothing may be skipped here: it ${reason}`);
  return reason;
}

function missingOf(need: Need): readonly string[] {
  if (need === 'root') return process.getuid?.() === 0 ? [] : ['root'];
  // A daemon that the environment names takes nothing of this machine.
  if (need === 'docker') {
    return process.env['GANGWAY_TEST_DOCKER_SOCKET'] ? [] : ofDocker.flatMap(missingOf);
  }
  return programPath(need) === undefined ? [need] : [];
}

/** Where it is; undefined where it is not. Servers are found too, which are on few a PATH. */
export function programPath(name: ProgramName): string | undefined {
  if (isHidden(name)) return undefined;
  const { names = [name] }: Program = programs[name];
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  return names
    .flatMap((one) => [...folders, '/usr/bin', '/usr/sbin', '/sbin'].map((dir) => join(dir, one)))
    .find((file) => existsSync(file));
}

/** Names of packages that this machine lacks, in alphabetical order. */
export function missingPackages(): string[] {
  const lacking = (Object.keys(programs) as ProgramName[]).filter((name) => {
    const { shownBy }: Program = programs[name];
    const isThere = programPath(name) !== undefined;
    return !isThere || (shownBy !== undefined && !existsSync(shownBy));
  });
  return [...new Set(lacking.map((name) => programs[name].package))].sort();
}

function isHidden(name: string): boolean {
  const hidden = (process.env['GANGWAY_TESTS_HIDE'] ?? '').split(',');
  return hidden.includes('all') || hidden.includes(name);
}

/** As in CI. */
export function mayNotSkip(): boolean {
  return (process.env['GANGWAY_TESTS_SKIP_NOTHING'] ?? '') !== '';
}
