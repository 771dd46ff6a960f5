/**
 * Owns a Docker daemon of the tests' own: its folders, its bridge and its end.
 *
 * 1. Nothing of the machine's own daemon is used or touched: own socket, data, bridge and addresses.
 * 2. What a killed run left (processes, mounts, bridges, folders) is cleaned up by the next one.
 * 3. Its containerd is a program beside it, as distributions have it, and lives on while it restarts.
 *    One that the daemon starts itself costs a second of sleep at each end.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import Docker from 'dockerode';

import { lent } from '../runner/lent-daemons.ts';
import { isAlive } from './processes.ts';
import { programPath } from './programs.ts';

export interface DockerDaemon {
  socket: string;
  /** With others, who are not to find what was left there. */
  isShared: boolean;
  /** Ends it as an operator does, and starts it again on what it kept. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Meanwhile it takes what it is asked and answers nothing. */
  whileFrozen<T>(work: () => Promise<T>): Promise<T>;
  /** Also of what it left; resolves when nothing is there any more. */
  close(): Promise<void>;
}

const prefix = 'gangway-dockerd-';
const bridgesMax = 64;
const startMs = 120_000;

export interface OwnDaemonOptions {
  /** Containers live on while it restarts. */
  liveRestore?: boolean;
  /** Its folder's. */
  home?: string;
  /** What `takeImages` took of another one; null: it begins with no image. Default what the run lends. */
  images?: string | null;
}

/** A daemon for the asker alone. */
export async function ownDaemon(options: OwnDaemonOptions = {}): Promise<DockerDaemon> {
  const home = options.home ?? os.tmpdir();
  cleanUp(home);
  const images = options.images === undefined ? await lent('images') : options.images;
  const dir = fs.mkdtempSync(path.join(home, `${prefix}${process.pid}-`));
  if (images != null) copyImages(images, path.join(dir, 'data'), '--link');
  const bridge = makeBridge();
  fs.writeFileSync(path.join(dir, 'bridge'), bridge.name);
  // Its own configuration: the machine's may hold anything.
  fs.writeFileSync(path.join(dir, 'daemon.json'), '{}');
  const containerd = launchContainerd(dir);
  const socket = path.join(dir, 'docker.sock');
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = launchDaemon(dir, socket, bridge, options.liveRestore === true);
    await answers(socket, child, dir);
  };
  const stop = async (): Promise<void> => {
    if (child) await end(child);
    child = undefined;
  };
  const close = async (): Promise<void> => {
    await stop();
    await end(containerd);
    discard(dir);
  };
  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    socket,
    isShared: false,
    start,
    stop,
    restart: async () => {
      await stop();
      await start();
    },
    whileFrozen: async (work) => {
      const pid = child?.pid;
      if (pid === undefined) throw new Error('Cannot freeze a daemon that does not run');
      process.kill(pid, 'SIGSTOP');
      while (!isStopped(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
      try {
        return await work();
      } finally {
        process.kill(pid, 'SIGCONT');
      }
    },
    close,
  };
}

/** The images of a daemon that is at rest, for others to begin with. `folder`: one that is not there yet. */
export function takeImages({ socket }: DockerDaemon, folder: string): void {
  // A daemon's folder is a mount of its own, over which there are no links.
  copyImages(path.join(path.dirname(socket), 'data'), folder);
}

/** `as` link: a daemon writes none of these files again, it puts others in their places. */
function copyImages(from: string, to: string, as: '--link' | '--reflink=auto' = '--reflink=auto') {
  fs.mkdirSync(to);
  const parts = ['image', 'overlay2'].map((part) => path.join(from, part));
  execFileSync('cp', ['--archive', as, ...parts, to], { stdio: 'ignore' });
}

/** How all addresses in networks of the daemon with this bridge begin. */
function poolOf(number: number): string {
  return `10.${150 + number}.`;
}

interface Bridge {
  name: string;
  number: number;
}

/** The bridges of networks that were made: a daemon that ends leaves them. */
function bridgesIn(number: number): string[] {
  return ip('-o', '-4', 'addr', 'show')
    .split('\n')
    .flatMap((line) => {
      const [, name = '', , address = ''] = line.split(/\s+/);
      return name.startsWith('br-') && address.startsWith(poolOf(number)) ? [name] : [];
    });
}

/** The first number that nobody has: the kernel refuses a second one of a name. */
function makeBridge(): Bridge {
  for (let number = 0; number < bridgesMax; number++) {
    const name = `gwtest${number}`;
    try {
      ip('link', 'add', name, 'type', 'bridge');
    } catch {
      continue; // Another test's.
    }
    ip('addr', 'add', `10.217.${number}.1/24`, 'dev', name);
    ip('link', 'set', name, 'up');
    allowWithin('-I', number);
    return { name, number };
  }
  throw new Error('Cannot start a Docker daemon: all bridges are taken');
}

function ip(...args: string[]): string {
  return execFileSync(programPath('ip') ?? 'ip', args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
}

/**
 * The daemon is to make no rules: they would be in the way of the machine's own. Where that one lets
 * nothing pass between containers but its own, ours need a word.
 */
function allowWithin(action: '-I' | '-D', number: number): void {
  const subnet = `${poolOf(number)}0.0/16`;
  const iptables = programPath('iptables') ?? 'iptables';
  const rule = ['FORWARD', '-s', subnet, '-d', subnet, '-j', 'ACCEPT'];
  try {
    execFileSync(iptables, ['-w', action, ...rule], { stdio: 'ignore' });
  } catch {
    // No firewall here, or the rule is gone.
  }
}

/** Without what a daemon does not use. */
function launchContainerd(dir: string): ChildProcess {
  const without = ['grpc.v1.cri', 'internal.v1.opt', 'internal.v1.restart'];
  const config = [
    'version = 2',
    `root = "${dir}/data/containerd"`,
    `state = "${dir}/exec/containerd"`,
    `disabled_plugins = ${JSON.stringify(without.map((name) => `io.containerd.${name}`))}`,
    `[grpc]\naddress = "${containerdSocket(dir)}"`,
  ];
  const file = path.join(dir, 'containerd.toml');
  fs.writeFileSync(file, config.join('\n'));
  return launch(dir, 'containerd', ['--config', file]);
}

function containerdSocket(dir: string): string {
  return path.join(dir, 'containerd.sock');
}

function launchDaemon(
  dir: string,
  socket: string,
  bridge: Bridge,
  liveRestore: boolean,
): ChildProcess {
  return launch(
    dir,
    'dockerd',
    [
      ['--data-root', path.join(dir, 'data')],
      ['--exec-root', path.join(dir, 'exec')],
      ['--pidfile', path.join(dir, 'pid')],
      ['--host', `unix://${socket}`],
      ['--config-file', path.join(dir, 'daemon.json')],
      ['--containerd', containerdSocket(dir)],
      ['--bridge', bridge.name],
      ['--default-address-pool', `base=${poolOf(bridge.number)}0.0/16,size=24`],
      ['--iptables=false', '--ip6tables=false', '--ip-masq=false', '--shutdown-timeout=2'],
      ...(liveRestore ? [['--live-restore']] : []),
    ].flat(),
  );
}

function launch(
  dir: string,
  name: 'containerd' | 'dockerd',
  args: readonly string[],
): ChildProcess {
  const log = fs.openSync(path.join(dir, 'log'), 'a');
  const program = programPath(name) ?? name;
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };
  const child = spawn(program, args, { stdio: ['ignore', log, log], env, detached: true });
  child.unref();
  fs.closeSync(log);
  return child;
}

async function answers(socket: string, child: ChildProcess, dir: string): Promise<void> {
  const docker = new Docker({ socketPath: socket });
  const giveUpAt = Date.now() + startMs;
  for (;;) {
    try {
      await docker.ping();
      return;
    } catch (error) {
      if (child.exitCode !== null || Date.now() > giveUpAt) {
        const log = fs.readFileSync(path.join(dir, 'log'), 'utf8').slice(-2000);
        throw new Error(`Cannot start a Docker daemon:\n${log}`, { cause: error });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Threads stop one by one, some after the signal was sent. */
function isStopped(pid: number): boolean {
  return fs.readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = fs.readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).startsWith(') T');
  });
}

function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const hard = setTimeout(() => child.kill('SIGKILL'), 40_000);
    // Else who waits for it could be left with nothing that keeps the test going.
    child.ref();
    child.once('exit', () => {
      clearTimeout(hard);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

/** What daemons are left in a folder by processes that are no more. */
export function cleanUp(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    const owner = /^gangway-dockerd-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) discard(path.join(folder, name));
  }
}

/**
 * Ends what names the folder on its command line and what runs in containers, which outlives both the
 * daemon and what watches over it; then removes mounts, bridges and the folder.
 */
function discard(dir: string): void {
  for (let round = 0; round < 100; round++) {
    const left = processesOf(dir, containersOf(dir));
    if (left.length === 0) break;
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  const mounts = fs
    .readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .filter((mount) => mount.startsWith(`${dir}/`));
  for (const mount of mounts.reverse()) {
    execFileSync('umount', ['--lazy', mount], { stdio: 'ignore' });
  }
  try {
    const bridge = fs.readFileSync(path.join(dir, 'bridge'), 'utf8');
    const number = Number(bridge.replace(/\D/g, ''));
    // Before its number is free for another one.
    allowWithin('-D', number);
    for (const left of bridgesIn(number)) ip('link', 'del', left);
    ip('link', 'del', bridge);
    // Of a daemon that was made a swarm: see `beSwarm`.
    ip('link', 'del', `${bridge}s`);
  } catch {
    // It never came to that.
  }
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
}

function containersOf(dir: string): string[] {
  const folder = path.join(dir, 'data', 'containers');
  return fs.existsSync(folder) ? fs.readdirSync(folder) : [];
}

function processesOf(dir: string, containers: readonly string[]): number[] {
  return fs.readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const line = fs.readFileSync(`/proc/${name}/cmdline`, 'utf8');
      const groups = fs.readFileSync(`/proc/${name}/cgroup`, 'utf8');
      const isOurs = line.includes(`${dir}/`) || containers.some((id) => groups.includes(id));
      return isOurs && isAlive(pid) ? [pid] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}
