/** What `cgroups-v2.test.ts` runs on a kernel of its own, as its root: each line it prints is JSON. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  type CgroupHost,
  openCgroups,
  readCgroupHost,
} from '../../src/programs/runner/limits/cgroups.ts';
import type { Confinement, Limits } from '../../src/programs/runner/limits/confinement.ts';
import { confined } from '../../src/programs/runner/limits/launch.ts';
import { recordingLogger } from './silent-logger.ts';

const top = '/sys/fs/cgroup';
const uid = 1000;
const resources = { memoryMb: 32, cpus: 0.5, pids: 10, replicas: 1 };

function tell(what: string, fields: object): void {
  fs.writeSync(1, `\n${JSON.stringify({ what, ...fields })}\n`);
}

/** Moves this process into a group that is made for it, below one that hands everything down. */
function enter(name: string): void {
  fs.writeFileSync(path.join(top, 'cgroup.subtree_control'), '+memory +cpu +pids');
  fs.mkdirSync(path.join(top, name));
  fs.writeFileSync(path.join(top, name, 'cgroup.procs'), '0');
}

function run(place: Confinement['place'], script: string): string {
  const variables = { PATH: '/usr/bin:/bin' };
  const command = ['/bin/sh', '-c', script];
  const start = confined({ command, workingDir: '/', env: variables, uid: null }, place);
  const [program = '', ...args] = start.command;
  return spawnSync(program, args, { env: start.env, encoding: 'utf8' }).stdout.trim();
}

function folder({ place }: Confinement): string {
  return path.dirname(place?.join[0] ?? '');
}

async function look(
  what: string,
  host: CgroupHost,
  also: (limits: Limits) => Promise<object> = () => Promise.resolve({}),
): Promise<void> {
  const limits = openCgroups(host, 'i', recordingLogger());
  const group = limits?.confinementOf('dep-1', resources);
  group?.open();
  const read = (name: string): string =>
    group === undefined ? '' : fs.readFileSync(path.join(folder(group), name), 'utf8').trim();
  const files = ['memory.max', 'cpu.max', 'pids.max', 'cgroup.type'];
  tell(what, {
    kind: limits?.kind,
    missing: limits?.missing,
    group: group && folder(group),
    files: Object.fromEntries(files.map((name) => [name, read(name)])),
    own: fs.readFileSync('/proc/self/cgroup', 'utf8').trim(),
    ...(limits && (await also(limits))),
  });
  group?.close();
  limits?.close();
}

/** What the limits do, and that what is in a group can be ended, and the group removed. */
async function enforce(limits: Limits): Promise<object> {
  const group = limits.confinementOf('dep-1', resources);
  const { place } = group;
  const within = run(place, 'cat /proc/self/cgroup; head -c 60000000 /dev/zero | tail -c 50000000');
  run(place, `mkdir ${folder(group)}/own; (sleep 99 & sleep 99 &) > /dev/null 2>&1`);
  const before = group.pids().length;
  group.kill();
  while (group.pids().length > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const { cpuNs = 0 } = group.usage() ?? {};
  // Of a team: as the one above it, below a bound for its team.
  const ofTeam = limits.confinementOf('dep-2', resources, 'team_a');
  ofTeam.open();
  const inTeam = run(ofTeam.place, 'cat /proc/self/cgroup');
  const bound = fs.readFileSync(path.join(path.dirname(folder(ofTeam)), 'memory.max'), 'utf8');
  const team = [inTeam, Number(bound) < os.totalmem(), ofTeam.close()];
  return { team, within, oomKills: group.oomKills(), before, cpuNs, closed: group.close() };
}

await look('root', readCgroupHost(), enforce);
// A container that sees its part of the tree alone.
enter('box');
const part = { mountinfo: `1 1 0:1 /box ${top}/box rw - cgroup2 none rw`, isRoot: true };
await look('container', { ...part, selfCgroup: '0::/box' });
// A group that others are in, too, and which is not ours to move them out of.
enter('shared');
const { mountinfo } = part;
const shared = { ...part, mountinfo: mountinfo.replaceAll('/box', '/shared') };
await look('shared', { ...shared, selfCgroup: '0::/shared/none' });
// A unit without a group for its processes, delegated to a user.
enter('unit');
for (const name of ['', 'cgroup.procs', 'cgroup.subtree_control']) {
  fs.chownSync(path.join(top, 'unit', name), uid, uid);
}
process.setgroups?.([]);
process.setgid?.(uid);
process.setuid?.(uid);
await look('unit', readCgroupHost());
