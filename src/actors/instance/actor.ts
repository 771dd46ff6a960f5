/**
 * Owns the instance's settings after the set-up, and the only way to change them; the set-up belongs to the
 * `account` actor. A handler ends only when its commit is durable, so that the next one reads the result.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { InstanceRecord } from '../../store/records/records.ts';
import { put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { certificatesActor } from '../certificates/protocol.ts';
import { edgeActor } from '../edge/edge-actor.ts';
import { type ActorContext, type ActorDefinition, actorKind } from '../runtime/actor.ts';
import { localServerId } from '../../places/local-place.ts';

/** An absent field stays unchanged. */
export interface InstancePatch {
  logMaxDays?: number;
  publicUrl?: string;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type InstanceProtocol = {
  /** Refused with BAD_USER_INPUT; CONFLICT before the instance is set up. */
  update: { in: { patch: InstancePatch }; out: InstanceRecord };
};

/** There is one: `instanceActor.at('instance')`. */
export const instanceActor = actorKind<InstanceProtocol>('instance');

const logDaysMax = 3_650;

export function instanceActorDefinition(options: {
  reader: Reader;
}): ActorDefinition<InstanceProtocol> {
  return {
    kind: instanceActor,
    activate: (context) => ({
      update: async ({ patch }) => {
        const record = options.reader.get(tables.instance, 'instance');
        if (!record) throw new ServiceError('CONFLICT', 'The instance is not set up yet.');
        const next = patched(record, patch);
        if (next.publicUrl !== record.publicUrl) mustBeNobodys(options.reader, next.publicUrl);
        await context.commit([put(tables.instance, next)]);
        if (next.publicUrl !== record.publicUrl) tellOfHost(context);
        return next;
      },
    }),
  };
}

function patched(record: Readonly<InstanceRecord>, patch: InstancePatch): InstanceRecord {
  const next = { ...record };
  if (patch.logMaxDays !== undefined) {
    const days = patch.logMaxDays;
    if (!Number.isInteger(days) || days < 1 || days > logDaysMax) {
      throw new ServiceError('BAD_USER_INPUT', `logMaxDays must be between 1 and ${logDaysMax}.`);
    }
    next.logMaxDays = days;
  }
  if (patch.publicUrl !== undefined) next.publicUrl = originOf(patch.publicUrl);
  return next;
}

/** An app at the panel's host would get the cookies of the panel. */
function mustBeNobodys(reader: Reader, publicUrl: string | null): void {
  const { hostname } = new URL(publicUrl ?? 'http://localhost');
  const wildcard = `*.${hostname.slice(hostname.indexOf('.') + 1)}`;
  for (const host of [hostname, wildcard]) {
    if (reader.find(tables.domains, 'host', [host]) === undefined) continue;
    throw new ServiceError('CONFLICT', `${host} is a domain of an app: remove it there first.`);
  }
}

/** Where the edge serves the panel it is at the new host now, and needs a certificate for that. */
function tellOfHost({ actors }: ActorContext<InstanceProtocol>): void {
  actors.tell(edgeActor.at(localServerId), { type: 'sync' });
  actors.tell(certificatesActor, { type: 'sweep' });
}

/** An address of scheme, host and port alone, as browsers write it in `Origin`. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const web = url?.protocol === 'https:' || url?.protocol === 'http:';
  const bare = url?.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  if (!url || !web || !bare || text.length > 255) {
    throw new ServiceError(
      'BAD_USER_INPUT',
      'publicUrl must be http(s)://host or http(s)://host:port, without a path.',
    );
  }
  return url.origin;
}
