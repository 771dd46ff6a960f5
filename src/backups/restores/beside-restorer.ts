/**
 * Owns the way back of a dump that an engine in containers reads itself: into another server with a fresh
 * volume, beside the live one, as the database's own user. Then that volume takes the place of the live one.
 *
 * 1. The live server and its volume have no part in it, so that nothing of the engine has to be undone: the
 *    previous volume is put back as it was.
 */
import { feed } from '../client-program.ts';
import type { PipeSpec } from '../../protocol/workload.ts';
import type { DatabaseTarget } from '../targets.ts';
import { unfit } from './failures.ts';
import type { Restorer } from './restorer.ts';
import { swapVolumes } from './volume-swap.ts';

/** The only volume of a database. */
const name = 'data';

export interface BesideDump {
  /** Reads the dump from its input. */
  read: PipeSpec;
  /** Then says something where there is something in the database; absent: `read` fails where there is not. */
  look?: PipeSpec;
}

export function besideRestorer(target: DatabaseTarget, { read, look }: BesideDump): Restorer {
  const { volumes, beside, control } = target;
  if (volumes === null || beside === null) throw unfit('This engine runs in containers alone.');
  return {
    async restore(bytes, log, signal) {
      await swapVolumes({ volumes, control, log }, [name], async (fresh) => {
        log('A server with an empty volume is started beside the live one.');
        const work = async (pipe: DatabaseTarget['pipe']): Promise<void> => {
          log('The dump is read into it.');
          const other = { ...target, pipe };
          await feed(other, read, bytes, signal);
          if (look === undefined) return;
          const found = (await feed(other, look, null, signal)).toString().trim();
          if (found === '') throw unfit('There is nothing in the dump for this database.');
        };
        await beside(fresh[name] ?? '', work, signal);
        signal.throwIfAborted();
        return new Set([name]);
      });
    },
  };
}
