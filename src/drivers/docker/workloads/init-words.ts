/** Owns asking why docker-init could not start a program. It says so only in the container's log. */
import { type Engine, orGone, pause } from '../engine/engine.ts';
import { initFailure } from './states.ts';

/** A daemon under load reports the end of a container before its last lines are in the log. */
const looks = { most: 40, everyMs: 50 };

/** A sentence; null for a container that ended for another reason. */
export async function askInitFailure(engine: Engine, container: string): Promise<string | null> {
  for (let look = 1; ; look++) {
    const log = await engine.ask((docker) =>
      orGone(docker.getContainer(container).logs({ stderr: true, tail: 2 })),
    );
    if (!log) return null;
    if (log.length > 0 || look === looks.most) return initFailure(log.toString());
    await pause(looks.everyMs, engine.closed);
  }
}
