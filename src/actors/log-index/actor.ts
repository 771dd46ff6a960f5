/**
 * Owns the commits of the index of log segments: the one actor through which the writer of logs,
 * which is no actor, changes what is stored.
 */
import type { Change } from '../../store/records/table.ts';
import { actorKind } from '../runtime/actor.ts';
import type { ActorDefinition } from '../runtime/actor.ts';

export type LogIndexProtocol = {
  commit: { in: { changes: Change[] }; out: null };
};

const kind = actorKind<LogIndexProtocol>('log-index');

/** Address it as `logIndexActor.at('segments')`. */
export const logIndexActor = kind;

export const logIndexDefinition: ActorDefinition<LogIndexProtocol> = {
  kind,
  activate: (context) => ({
    handlers: {
      commit: ({ changes }) => {
        // The answer waits for the disk at the output gate.
        void context.commit(changes);
        return null;
      },
    },
  }),
};
