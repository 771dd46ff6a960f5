/**
 * Owns starting a database: its files if there are none, its server, the check whether it answers, and a
 * new database's user and database.
 *
 * 1. A workload is journaled before the driver hears of it, so that it is found again after a crash.
 * 2. A server starts when the previous one is gone.
 * 3. Until everything was made once, a start that finds nothing under way begins with empty files. So
 *    half-made files of an earlier start never count as a database.
 */
import type { Workload } from '../../../protocol/workload.ts';
import { reach } from '../../workload/reach.ts';
import { BuildOutput } from '../../app/build/build-output.ts';
import { dataName, volumeOf } from '../../workload/volumes.ts';
import { loginsFor } from '../../app/build/registry-logins.ts';
import { describeExit, lacksImage } from '../../workload/ends.ts';
import type { DatabaseCore } from '../core.ts';
import { type HostInit, type HostServer, requireHost } from '../engines/engine.ts';
import { justBeforeMs, saidIn, saidSince } from './said.ts';
import { imageReference, initSpec, type Runtime, serverSpec } from './spec.ts';
import { sentenceOf, WorkFailed } from '../../workload/work-failed.ts';
import { awaitAnswer, serverOf } from './wellness.ts';
import { pause } from '../../../lib/clock.ts';
import { goLive, leaveNext, nameInit, nameServer } from './workloads.ts';

// Another process can take the port between its choice and its use.
const portsTried = 3;
const pollMs = 100;
const notWanted = 'It is not wanted any more.';

/** Resolves when the database serves. Rejects with WorkFailed or a ServiceError, or when aborted. */
export async function bringUp(core: DatabaseCore, signal: AbortSignal): Promise<void> {
  let found = await findStarted(core, signal);
  let keepsPort = true;
  for (let tried = 1; ; tried++) {
    const beganAtMs = core.deps.clock.now();
    const workloadId = found ?? (await startServer(core, keepsPort, signal));
    const answer = await awaitAnswer(core, workloadId, signal);
    switch (answer.kind) {
      case 'well': {
        if (!core.require().run.made) await setUp(core, workloadId, signal);
        if (await core.context.report(() => goLive(core, workloadId), signal)) return;
        throw new WorkFailed(notWanted);
      }
      case 'failed':
        throw new WorkFailed(
          answer.reason + (await saidSince(core, workloadId, beganAtMs, signal)),
        );
      case 'foreign':
        core.deps.logger.warn({ database: core.id, workload: workloadId }, 'database_port_taken');
        if (tried >= portsTried) {
          throw new WorkFailed('Another program listens on the port that was chosen for it.');
        }
        found = null;
        keepsPort = false;
    }
  }
}

async function setUp(core: DatabaseCore, workloadId: string, signal: AbortSignal): Promise<void> {
  try {
    await core.engine.setUp(await serverOf(core, workloadId), signal);
  } catch (error) {
    const said = saidIn(core, error);
    if (said === '') throw error;
    throw new WorkFailed(`Its user and its database could not be made.${said}`, { cause: error });
  }
}

/** The server that an earlier activation started, if it still runs. */
async function findStarted(core: DatabaseCore, signal: AbortSignal): Promise<string | null> {
  const next = core.record?.run.next ?? null;
  if (next === null) return null;
  const { driver, clock } = core.deps;
  const workload = await reach(clock, signal, () => driver.inspect(next));
  if (workload === undefined || workload.state.phase === 'ended') return null;
  core.care.follow(next);
  return next;
}

async function startServer(
  core: DatabaseCore,
  keepsPort: boolean,
  signal: AbortSignal,
): Promise<string> {
  const { driver, clock } = core.deps;
  if (core.require().run.next !== null) {
    await core.context.report(() => leaveNext(core), signal);
  }
  const runtime = await prepare(core, signal);
  const { port: known } = core.require().run;
  const port =
    keepsPort && known !== null ? known : await reach(clock, signal, () => driver.freePort());
  const server = { port, ...ofRuntime(runtime) };
  const workloadId = await core.context.report(() => nameServer(core, server), signal);
  if (workloadId === null) throw new WorkFailed(notWanted);
  signal.throwIfAborted();
  const spec = await serverSpec(core, runtime, workloadId, port);
  let started = await reach(clock, signal, () => driver.start(spec));
  if (lacksImage(started)) {
    // Somebody removed the image.
    await pullImage(core, signal);
    // The driver remembers a workload that did not start until it is removed.
    await reach(clock, signal, () => driver.remove(workloadId));
    started = await reach(clock, signal, () => driver.start(spec));
  }
  core.care.follow(workloadId);
  if (started.state.phase === 'ended') {
    const said = await saidSince(core, workloadId, started.state.exit.atMs - justBeforeMs, signal);
    throw new WorkFailed(describeExit(started.state.exit, 'It') + said);
  }
  return workloadId;
}

function ofRuntime(runtime: Runtime): { version: string; image: string | null } {
  if (runtime.kind === 'host') return { version: runtime.server.version, image: null };
  return { version: runtime.version, image: runtime.image };
}

async function prepare(core: DatabaseCore, signal: AbortSignal): Promise<Runtime> {
  const { driver, clock } = core.deps;
  // Two servers would destroy the same files.
  while (core.require().run.ending.length > 0) await pause(clock, pollMs, signal);
  const { version, run } = core.require();
  if (driver.runs === 'image') {
    const image = run.image ?? (await pullImage(core, signal));
    const volume = volumeOf(core.require(), dataName);
    if (!run.made) await reach(clock, signal, () => driver.removeVolume(volume));
    return { kind: 'image', image, version };
  }
  const host = requireHost(core.engine);
  const { tools } = await reach(clock, signal, () => core.machine());
  const server = await host.again(version, tools);
  if (!run.made) await makeFiles(core, server, signal);
  else await (await core.files()).ensure();
  return { kind: 'host', server };
}

/**
 * Pulls the image with the logins of the team, and logs the pull in the database's log. Resolves with the
 * driver's name of the image. The reason of a failure follows in the log. Rejects with WorkFailed and what
 * `Images` rejects with.
 */
async function pullImage(core: DatabaseCore, signal: AbortSignal): Promise<string> {
  const { driver, streams, clock, options } = core.deps;
  const { images } = driver;
  if (images === null) throw new Error('a driver of images without images');
  const reference = imageReference(core);
  const logins = loginsFor(core.deps, core.require().teamId, reference);
  const spec = { owner: core.id, name: `${core.id}-image`, reference, logins };
  const output = new BuildOutput((text) => {
    // An aborted pull logs nothing more: its database may be stopped or gone.
    if (!signal.aborted) streams.write(`db:${core.id}`, text);
  }, clock);
  const { line } = output;
  const deadline = AbortSignal.timeout(options.pullTimeoutMs);
  const either = AbortSignal.any([signal, deadline]);
  line(`Pulling ${reference}.`);
  try {
    const pulled = await reach(clock, either, () => images.pull(spec, line, either));
    return pulled.image;
  } catch (error) {
    const minutes = String(Math.round(options.pullTimeoutMs / 60_000));
    const failure = deadline.aborted
      ? new WorkFailed(`Pulling ${reference} took longer than ${minutes} minutes.`)
      : error;
    line(sentenceOf(failure));
    throw failure;
  } finally {
    output.flush();
  }
}

async function makeFiles(
  core: DatabaseCore,
  server: HostServer,
  signal: AbortSignal,
): Promise<void> {
  const { driver, clock } = core.deps;
  const { initJob } = core.require().run;
  const known =
    initJob === null ? undefined : await reach(clock, signal, () => driver.inspect(initJob));
  if (known !== undefined) {
    await finishInit(core, known, signal);
    return;
  }
  const files = await core.files();
  await files.makeAnew();
  const init = await server.init(files, core.passwords);
  if (init === null) return files.handOver();
  const uid = await initUid(core, init);
  const workloadId = await core.context.report(() => nameInit(core), signal);
  if (workloadId === null) throw new WorkFailed(notWanted);
  signal.throwIfAborted();
  const spec = initSpec(core, files, init, { id: workloadId, uid });
  const job = await reach(clock, signal, () => driver.start(spec));
  await finishInit(core, job, signal);
}

/**
 * Some programs ask for the name of their user, and an own uid has none. They run under a uid with a name.
 */
async function initUid(core: DatabaseCore, init: HostInit): Promise<number | null> {
  const { namedUid } = await core.machine();
  const uid = init.needsName && core.uid !== null ? namedUid : core.uid;
  if (uid !== core.uid) await (await core.files()).lend(uid);
  return uid;
}

async function finishInit(core: DatabaseCore, job: Workload, signal: AbortSignal): Promise<void> {
  const { driver, clock } = core.deps;
  const { id } = job.spec;
  core.care.follow(id);
  for (let seen: Workload | undefined = job; ;) {
    if (seen === undefined) throw new WorkFailed('Its files could not be made: the job is gone.');
    if (seen.state.phase === 'ended') {
      const { exit } = seen.state;
      await core.care.settled(id, signal);
      if (exit.code === 0) break;
      const said = await saidSince(core, id, exit.atMs - justBeforeMs, signal);
      const more = said === '' ? ' The log of the database says more.' : said;
      throw new WorkFailed(`Its files could not be made: ${describeExit(exit, 'It')}${more}`);
    }
    await pause(clock, pollMs, signal);
    seen = await reach(clock, signal, () => driver.inspect(id));
  }
  await reach(clock, signal, async () => (await core.files()).handOver());
}
