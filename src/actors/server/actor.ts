/**
 * Owns the stored records of servers: this machine, and the others that a driver has.
 *
 * 1. The server that everything runs on is `srv_local`, whatever its driver calls it.
 * 2. Without a change nothing is written, except once a minute when a server was last seen.
 */
import { isDeepStrictEqual } from 'node:util';

import type { ServerInfo } from '../../drivers/driver.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LayerState } from '../../protocol/isolation.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { ServerRecord } from '../../store/records/records.ts';
import { put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { localServerId } from '../../places/local-place.ts';
import { type ActorDefinition, actorKind } from '../runtime/actor.ts';

export type ServersProtocol = {
  /** All servers that exist now; others are forgotten. */
  seen: { in: { servers: readonly ServerInfo[] }; out: null };
  /** No server is reached, and no other change is known. */
  lost: { in: object; out: null };
  /** What keeps workloads of this machine apart, where it has the process runtime; null: not known. */
  isolation: { in: { layers: readonly LayerState[] | null }; out: null };
};

/** There is one: `serversActor.at('all')`. */
export const serversActor = actorKind<ServersProtocol>('servers');

export interface ServersActorOptions {
  reader: Reader;
  clock: Clock;
}

const seenEveryMs = 60_000;

export function serversDefinition({
  reader,
  clock,
}: ServersActorOptions): ActorDefinition<ServersProtocol> {
  return {
    kind: serversActor,
    activate: (context) => ({
      seen: async ({ servers }) => {
        const nowMs = clock.now();
        const found = servers.map((server) => recordOf(server, reader, nowMs));
        const there = new Set(found.map(({ id }) => id));
        const gone = [...reader.scan(tables.servers)].filter(({ id }) => !there.has(id));
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
        const changes = [...reader.scan(tables.servers)]
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
