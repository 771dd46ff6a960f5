/** Owns how consoles are put together in a serving Gangway: once, where the driver is. */
import { activityLog } from '../actors/activity/protocol.ts';
import { ConsoleCommands } from '../consoles/commands.ts';
import type { ConsoleEnd } from '../consoles/console-session.ts';
import { Consoles, type ConsoleStanding } from '../consoles/consoles.ts';
import type { ConsoleTarget, OpenConsole } from '../consoles/console-door.ts';
import { WorkloadPrograms } from '../actors/workload/console-programs.ts';
import type { Person } from '../logs/viewers/viewer.ts';
import { can, type Resource } from '../auth/rights/authorize.ts';
import { consoleCapability } from '../gateway/transports/attach.ts';
import type { Driver } from '../drivers/driver.ts';
import { localServerId } from '../places/local-place.ts';
import { serverOf } from '../places/owners.ts';
import type { Platform } from './platform.ts';
import type { Core } from './core.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';

export interface ServedConsoles {
  consoles: Consoles;
  commands: ConsoleCommands;
}

export function serveConsoles(core: Core, { places, store }: Platform): ServedConsoles {
  const { actors } = core.ground;
  const driverOf = ({ id }: ConsoleTarget): Driver =>
    places.of(serverOf(store, id) ?? localServerId).driver;
  const programs = new WorkloadPrograms({ reader: store, actors });
  const consoles = new Consoles({
    driverOf,
    programs,
    logger: core.logger,
    maxPerPerson: core.config.maxConsolesPerUser,
    standing: (person, target) => standingOf(core, person, target),
    teamOf: (target) => recordOf(store, target)?.teamId ?? null,
    onRightsChange: core.onRightsChange,
    onOpened: (opened) => note(core, opened, 'open_console', {}),
    onEnded: (opened, _sessionId, why) => note(core, opened, 'close_console', { why }),
  });
  return { consoles, commands: new ConsoleCommands({ driverOf, programs }) };
}

function standingOf(
  { ground: { store }, authenticator }: Core,
  person: Person,
  target: ConsoleTarget,
): ConsoleStanding {
  const resource = resourceOf(store, target);
  if (resource === undefined) return 'gone';
  if (!authenticator.stillValid(person)) return 'refused';
  return can(store, person, consoleCapability[target.kind], resource) ? 'allowed' : 'refused';
}

function recordOf(
  reader: Reader,
  { kind, id }: ConsoleTarget,
): Readonly<AppRecord | DatabaseRecord> | undefined {
  return kind === 'app' ? reader.get(tables.apps, id) : reader.get(tables.databases, id);
}

/** Undefined for a deleted app or database. */
function resourceOf(reader: Reader, { kind, id }: ConsoleTarget): Resource | undefined {
  if (kind === 'app') {
    const app = reader.get(tables.apps, id);
    return app?.deletedAtMs === null ? { kind, app } : undefined;
  }
  const database = reader.get(tables.databases, id);
  return database?.deletedAtMs === null ? { kind, database } : undefined;
}

/** Records who opened a console where, and how it ended: never what was typed. */
function note(
  { audit, ground: { actors }, logger }: Core,
  { person, target, container, mode, address, userAgent }: OpenConsole,
  action: 'open_console' | 'close_console',
  more: { why?: ConsoleEnd },
): void {
  const input = { ...(container !== '' && { container }), mode, ...more };
  const request = { action, principal: person, address, userAgent, targetId: target.id, input };
  audit
    .during({ ...request, always: true }, () => actors.ask(activityLog, { type: 'note' }))
    .catch((err: unknown) => logger.warn({ action, target: target.id, err }, 'activity_not_noted'));
}
