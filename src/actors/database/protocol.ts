/**
 * Owns the messages of the `database` actor: the only way to change a database. The sender's rights were
 * checked before; the actor checks the state.
 */
import type { ConsoleProgram } from '../../consoles/console-door.ts';
import type { DatabaseEngine, DatabaseRecord } from '../../store/records/records.ts';
import type { Resources, Workload } from '../../protocol/workload.ts';
import type { MoveProtocol } from '../move/protocol.ts';
import type { RestoreProtocol } from '../restore/protocol.ts';
import { type Actor, actorKind } from '../runtime/actor.ts';

export interface NewDatabase {
  teamId: string;
  name: string;
  engine: DatabaseEngine;
  version: string | null;
  folderId: string | null;
  serverId: string | null;
  resources: Partial<Resources>;
  databaseName: string | null;
  username: string | null;
  /** Null: the actor makes one up. */
  password: string | null;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type DatabaseProtocol = RestoreProtocol &
  MoveProtocol<DatabaseRecord> & {
    /**
     * Refused with CONFLICT, BAD_USER_INPUT, ENGINE_NOT_AVAILABLE. The actor's id is the new database's. The
     * database itself is made after the reply.
     */
    create: { in: { database: NewDatabase }; out: DatabaseRecord };
    /** Starts or stops it; a database in the wanted state stays as it is. */
    'set-running': { in: { running: boolean }; out: DatabaseRecord };
    /** Stops it and moves it to trash for 7 days. */
    delete: { in: object; out: boolean };
    restore: { in: object; out: boolean };
    purge: { in: object; out: boolean };
    /** The connection string. NOT_RUNNING before it has an address. */
    reveal: { in: object; out: string };
    /** Gives its user another password, and answers the new connection string. NOT_RUNNING, CONFLICT. */
    rotate: { in: object; out: string };
    /**
     * The program of a console, with its password in the environment; with a statement, a program that runs
     * it alone. NOT_RUNNING, ENGINE_NOT_AVAILABLE without a client.
     */
    client: { in: { statement: string | null }; out: ConsoleProgram };
    /** Wakes the database at start: it continues what was under way, and starts when it should run. */
    wake: { in: object; out: boolean };
    /** The driver reports that a workload of this database changed. */
    workload: { in: { workload: Workload }; out: boolean };
    workloads: { in: { workloads: Workload[] }; out: boolean };
    /** An alarm: continues a rotation that the server has not taken yet. */
    rotation: { in: object; out: boolean };
    /** An alarm: the server has another password, and the apps that refer to it are told. */
    rotated: { in: object; out: boolean };
    /** An alarm: starts again what should run and does not. */
    recover: { in: object; out: boolean };
  };

/** The handlers of one concern. */
export type Handlers = Partial<Actor<DatabaseProtocol>>;

export const databaseActor = actorKind<DatabaseProtocol>('database');
