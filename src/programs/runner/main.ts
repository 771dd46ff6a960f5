/**
 * Entry point of the runner: owns the wiring, the lock and the end of the process.
 *
 * 1. One runner a data directory: a second one finds the lock taken and leaves.
 * 2. It ends by itself when nothing runs, no route leads anywhere and nobody is connected, or when its
 *    data directory is gone; on SIGTERM it ends all workloads and leaves on record what is to run.
 */
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { systemClock } from '../../lib/clock.ts';
import { accepts } from '../../lib/connect.ts';
import { lineLogger } from '../../lib/line-logger.ts';
import type { Logger } from '../../lib/log.ts';
import { edgeUid } from '../../lib/processes/program-uids.ts';
import { layersIn } from '../../protocol/isolation.ts';
import { preparePanelDir } from '../../protocol/panel-sockets.ts';
import {
  runnerSocketDir,
  runnerSocketName,
  runnerStateDir,
} from '../../protocol/runner-version.ts';
import { socketAddress } from '../../protocol/runner-socket.ts';
import { EdgeKeeper } from './edge/edge-keeper.ts';
import { instanceOf } from './instance.ts';
import { Isolation } from './isolation/isolation.ts';
import { readCgroupHost } from './limits/cgroups.ts';
import { openBareLimits, openLimits } from './limits/limits.ts';
import { endSessionShares, raiseMachineBounds } from './limits/machine-settings.ts';
import { takeLock } from './lock.ts';
import { openNetworks } from './network/networks.ts';
import { Records } from './records.ts';
import { Runner } from './runner.ts';
import { EnvSeal } from './sealed-env.ts';
import { RunnerServer } from './server.ts';

const mebibyte = 1024 * 1024;
const outputLimits = {
  maxBytes: 256 * mebibyte,
  fileBytes: 4 * mebibyte,
  lineIdleMs: 100,
  holdBytes: 64 * mebibyte,
  releaseBytes: 32 * mebibyte,
  followerStallMs: 30_000,
};
const backoff = { firstMs: 250, maxMs: 30_000, goodRunMs: 30_000 };
/** Alone and idle for two looks in a row: it ends. */
const lookMs = 2000;
const connectMs = 1000;
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Closes what this process was given open by whoever started it: without close-on-exec every app
 * would hold it too. Node opens all of its own descriptors with it.
 */
function closeInherited(): void {
  const closeOnExec = 0o2000000;
  for (const name of fs.readdirSync('/proc/self/fd')) {
    const fd = Number(name);
    if (fd <= 2) continue;
    try {
      const info = fs.readFileSync(`/proc/self/fdinfo/${name}`, 'latin1');
      const flags = parseInt(/flags:\s*(\d+)/.exec(info)?.[1] ?? '', 8);
      if ((flags & closeOnExec) === 0) fs.closeSync(fd);
    } catch {
      // The descriptor of the listing itself, closed by now.
    }
  }
}

interface Ending {
  logger: Logger;
  runner: Runner;
  server: RunnerServer;
  edge: EdgeKeeper;
}

/** Ends the process once; what runs is ended before and left on record. */
function onceEnded(parts: Ending): (reason: string) => void {
  let ending = false;
  return (reason) => {
    if (ending) return;
    ending = true;
    parts.logger.info({ reason }, 'runner_ending');
    void parts.runner
      .release()
      .catch((error: unknown) => parts.logger.error({ err: error }, 'runner_release_failed'))
      .finally(() => {
        parts.server.close();
        process.exit(0);
      });
  };
}

function endWhenUseless(parts: Ending, socketFile: string, end: (reason: string) => void): void {
  const made = fs.statSync(socketFile).ino;
  let idleLooks = 0;
  const look = (): void => {
    const found = fs.statSync(socketFile, { throwIfNoEntry: false });
    if (found?.ino !== made) {
      // Nobody can reach this runner any more, nor start another one.
      end('socket-gone');
      return;
    }
    const busy = parts.runner.active || parts.edge.active;
    const idle = !busy && parts.server.connectionCount === 0;
    idleLooks = idle ? idleLooks + 1 : 0;
    if (idleLooks >= 2) end('idle');
    else systemClock.after(lookMs, look);
  };
  systemClock.after(lookMs, look);
}

/** A bug of one request must not take every app with it: they are children of this process. */
function surviveBugs(logger: Logger): void {
  process.on('uncaughtException', (err) => logger.error({ err }, 'exception_not_caught'));
  process.on('unhandledRejection', (err) => logger.error({ err }, 'rejection_not_handled'));
}

function ownDir(dataDir: string, name: string): string {
  const dir = path.join(dataDir, name);
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { 'data-dir': { type: 'string' }, without: { type: 'string' } },
  });
  const dataDir = values['data-dir'];
  const without = layersIn(values.without ?? '');
  if (dataDir === undefined) throw new Error('Cannot start the runner: --data-dir is missing');
  // What apps write is theirs to protect; what the runner writes has its modes given.
  process.umask(0o022);
  closeInherited();
  // Whoever starts a runner hands it the key on standard input: it stands in no file and no list.
  const seal = new EnvSeal(Buffer.from(fs.readFileSync(0, 'latin1').trim(), 'hex'));
  const logger = lineLogger('runner');
  surviveBugs(logger);
  const stateDir = ownDir(dataDir, runnerStateDir);
  const socketDir = ownDir(dataDir, runnerSocketDir);
  const instance = instanceOf(stateDir);
  const address = socketAddress(socketDir, runnerSocketName);
  // One of an earlier version holds another lock: that it answers tells.
  if (!takeLock(path.join(stateDir, 'lock'), instance) || (await accepts(address, connectMs))) {
    logger.info({}, 'runner_already_there');
    return;
  }
  const host = readCgroupHost();
  if (host.isRoot) raiseMachineBounds(logger);
  const limits = without.includes('cgroup')
    ? openBareLimits(host.isRoot)
    : openLimits(instance, logger, host);
  if (host.isRoot && !limits.missing.includes('cpus')) endSessionShares(logger);
  const isolation = await Isolation.open({
    dataDir,
    without,
    hasGroups: limits.kind.startsWith('cgroup'),
    isRoot: host.isRoot,
    openNetworks: () => openNetworks({ stateDir, instance, clock: systemClock, logger }),
  });
  const edge: EdgeKeeper = new EdgeKeeper({
    ...{ stateDir, seal, panelDir: preparePanelDir(dataDir) },
    tenants: () => runner,
    uid: host.isRoot ? edgeUid : null,
    clock: systemClock,
    logger,
  });
  const runner = new Runner({
    edge,
    stateDir,
    records: new Records(path.join(stateDir, 'workloads'), seal),
    instance,
    output: outputLimits,
    limits,
    isolation,
    backoff,
    clock: systemClock,
    logger,
  });
  let end: (reason: string) => void = () => undefined;
  const server = new RunnerServer({
    runner,
    edge,
    logger,
    without,
    handover: () => end('handover'),
  });
  const parts = { logger, runner, server, edge };
  end = onceEnded(parts);
  for (const signal of endSignals) process.on(signal, () => end(signal));
  const socketFile = path.join(socketDir, runnerSocketName);
  fs.rmSync(socketFile, { force: true });
  await server.listen(address.path);
  fs.chmodSync(socketFile, 0o600);
  endWhenUseless(parts, socketFile, end);
  logger.info({ dataDir }, 'runner_ready');
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? String(error.stack) : String(error)}\n`);
  process.exit(1);
}
