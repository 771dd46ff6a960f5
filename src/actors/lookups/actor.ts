/** Owns how many answers of public registries are kept: the oldest go first. */
import type { Reader } from '../../store/reader-and-journal.ts';
import { put, removeAll } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { ActorDefinition } from '../runtime/actor.ts';
import { lookupsKind, type LookupsProtocol } from './protocol.ts';

const keptMax = 200;

export function lookupsDefinition({
  reader,
}: {
  reader: Reader;
}): ActorDefinition<LookupsProtocol> {
  return {
    kind: lookupsKind,
    activate: (context) => ({
      keep: async ({ lookup }) => {
        const isNew = reader.get(tables.lookups, lookup.id) === undefined;
        const surplus = reader.count(tables.lookups, 'age', []) + (isNew ? 1 : 0) - keptMax;
        const oldest =
          surplus > 0 ? reader.list(tables.lookups, 'age', [], { limit: surplus }) : [];
        const others = oldest.filter(({ id }) => id !== lookup.id);
        await context.commit([put(tables.lookups, lookup), ...removeAll(tables.lookups, others)]);
        return true;
      },
    }),
  };
}
