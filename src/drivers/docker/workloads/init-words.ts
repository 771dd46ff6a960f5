/** Owns asking why docker-init gave up on a program, which it says in the container's log alone. */
import { orGone, pause } from '../engine/engine.ts';
import type { Engine } from '../engine/engine.ts';
import { initFailure } from './states.ts';

/** A daemon under load tells the end of a container before its last words are in the log. */
const looks = { most: 40, everyMs: 50 };

/** A sentence; null for what ended otherwise. */
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
