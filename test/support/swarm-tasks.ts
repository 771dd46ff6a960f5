/** Owns reading a task's log the way it is read when the task is on another node. */
import { Engine } from '../../src/drivers/docker/engine/engine.ts';
import { TaskLog } from '../../src/drivers/swarm/task-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { until } from './driver-specs.ts';
import { noLog } from './runner.ts';
import type { SwarmPlace } from './swarm-place.ts';

/** Streams and texts of all entries of the only task of a workload that has ended. */
export async function followTask(place: SwarmPlace, id: string): Promise<[string, string][]> {
  const filters = { label: [`gangway.instance=${place.instance}`, `gangway.workload=${id}`] };
  const [service] = await place.docker.listServices({ filters });
  const tasks = (await place.docker.listTasks({
    filters: { service: [service?.ID ?? ''] },
  })) as { ID: string }[];
  const socket = place.daemon.socket;
  const engine = new Engine({ socket, clock: systemClock, requestTimeoutMs: 5000 });
  const log = new TaskLog(
    {
      engine,
      logger: noLog,
      taskId: tasks[0]?.ID ?? '',
      containerId: null,
      hasTerminal: false,
      from: null,
      told: 0,
      over: true,
      changed: () => undefined,
      signal: new AbortController().signal,
    },
    Date.now(),
  );
  const entries: [string, string][] = [];
  await until('the whole log', () => {
    for (let entry = log.take(); entry; entry = log.take()) {
      entries.push([entry.stream, Buffer.from(entry.bytes).toString()]);
    }
    return log.done;
  });
  engine.close();
  return entries;
}
