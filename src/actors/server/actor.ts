/**
 * Owns the stored records of servers: this machine, the others that a driver has, and those that somebody added
 * (`added.ts`), which no driver knows.
 *
 * 1. The server that everything runs on is `srv_local`, whatever its driver calls it.
 * 2. Without a change nothing is written, except once a minute when a server was last seen.
 */
import { isDeepStrictEqual } from 'node:util';

import type { ServerInfo } from '../../drivers/driver.ts';
import type { LayerState } from '../../protocol/isolation.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { ServerRecord } from '../../store/records/records.ts';
import { put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { localServerId } from '../../places/local-place.ts';
import type { ActorDefinition } from '../runtime/actor.ts';
import { addedServers, type AddedServersOptions, seenEveryMs } from './added.ts';
import { serversActor, type ServersProtocol } from './protocol.ts';

export function serversDefinition(options: AddedServersOptions): ActorDefinition<ServersProtocol> {
  const { reader, clock } = options;
  return {
    kind: serversActor,
    activate: (context) => ({
      ...addedServers(options, context),
      seen: async ({ servers }) => {
        const nowMs = clock.now();
        const found = servers.map((server) => recordOf(server, reader, nowMs));
        const there = new Set(found.map(({ id }) => id));
        const gone = ofDriver(reader).filter(({ id }) => !there.has(id));
        const changes = [
          ...found.flatMap((record) =>
            isNew(record, reader) ? [put(tables.servers, record)] : [],
          ),
          ...gone.map(({ id }) => remove(tables.servers, id)),
        ];
        if (changes.length > 0) await context.commit(changes);
        return null;
      },
      lost: async () => {
        const changes = ofDriver(reader)
          .filter(({ connected }) => connected)
          .map((record) => put(tables.servers, { ...record, connected: false }));
        if (changes.length > 0) await context.commit(changes);
        return null;
      },
      isolation: async ({ layers }) => {
        const known = reader.get(tables.servers, localServerId)?.isolation ?? null;
        if (isDeepStrictEqual(known, layers)) return null;
        await context.commit([
          layers === null
            ? remove(tables.servers, localServerId)
            : put(tables.servers, own(layers)),
        ]);
        return null;
      },
    }),
  };
}

/** Those that a driver has, or this machine. */
function ofDriver(reader: Reader): Readonly<ServerRecord>[] {
  return [...reader.scan(tables.servers)].filter(({ agent }) => agent === undefined);
}

function recordOf(server: ServerInfo, reader: Reader, nowMs: number): ServerRecord {
  const { name, connected, draining, version } = server;
  const id = server.isOwn ? localServerId : `srv_${server.id}`;
  const before = reader.get(tables.servers, id)?.lastSeenAtMs ?? null;
  const isFresh = before !== null && nowMs - before < seenEveryMs;
  const lastSeenAtMs = connected && !isFresh ? nowMs : before;
  return { id, name, runtime: 'swarm', connected, draining, version, lastSeenAtMs };
}

function own(isolation: readonly LayerState[]): ServerRecord {
  const state = { connected: true, draining: false, version: null, lastSeenAtMs: null };
  return { id: localServerId, name: 'local', runtime: 'process', ...state, isolation };
}

function isNew(record: ServerRecord, reader: Reader): boolean {
  const known = reader.get(tables.servers, record.id);
  if (!known) return true;
  return (Object.keys(record) as (keyof ServerRecord)[]).some((key) => record[key] !== known[key]);
}
