/** Owns the messages of the `lookups` actor, which keeps what public registries answered. There is one of it. */
import type { LookupRecord } from '../../store/records/records.ts';
import { actorKind } from '../runtime/actor.ts';

export type LookupsProtocol = {
  /** In place of an earlier answer under the same key. */
  keep: { in: { lookup: LookupRecord }; out: boolean };
};

export const lookupsKind = actorKind<LookupsProtocol>('lookups');
export const lookupsActor = lookupsKind.at('registries');
