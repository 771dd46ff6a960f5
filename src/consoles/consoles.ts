/**
 * Owns all open consoles: whose they are, how many each person has, and how each one ends. Like log
 * streams they are one registry and no actors: a console keeps nothing that outlives its terminal.
 *
 * 1. Only the person who opened a console may use it, and only while that person has the right to. The
 *    right is checked with every write, and within a second after any change of rights. A person who
 *    loses it loses the console.
 * 2. The number of consoles is bounded for each person, for each team and for all. None is opened while the service
 *    drains.
 */
import type { Driver, Terminal, TerminalEvents } from '../drivers/driver.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { OwnTally } from '../lib/tally.ts';
import { sseEvent } from '../protocol/sse.ts';
import type { CloseOutcome } from '../logs/viewers/stream-room.ts';
import type { FrameSink, Person } from '../logs/viewers/viewer.ts';
import { type ConsoleEnd, ConsoleSession, type ConsoleTimes } from './console-session.ts';
import type {
  ConsoleDoor,
  ConsoleSize,
  ConsoleTarget,
  NamedConsole,
  OpenConsole,
  ConsolePrograms,
} from './console-door.ts';

/** Whether a person may use a console; `gone`: the app or database no longer exists. */
export type ConsoleStanding = 'allowed' | 'refused' | 'gone';

export interface ConsolesOptions extends Partial<ConsoleTimes> {
  /** Where it runs. */
  driverOf: (target: ConsoleTarget) => Pick<Driver, 'openTerminal' | 'attach'>;
  programs: Pick<ConsolePrograms, 'program'>;
  standing: (person: Person, target: ConsoleTarget) => ConsoleStanding;
  /** Whose a target is; null for what is gone. */
  teamOf: (target: ConsoleTarget) => string | null;
  /** Calls back when what `standing` says may have changed. */
  onRightsChange: (callback: () => void) => () => void;
  /** For the activity. */
  onOpened: (opened: OpenConsole, sessionId: string) => void;
  onEnded: (opened: OpenConsole, sessionId: string, why: ConsoleEnd) => void;
  logger: Logger;
  clock?: Clock;
  /** Default 16. */
  maxPerPerson?: number;
  /** In places of one team; default 128. */
  maxPerTeam?: number;
  /** For all persons together; default 512. */
  max?: number;
  /** Input that may wait for a program; default 1 MiB. */
  unwrittenBytes?: number;
  /** Output kept for a viewer that comes back; default 64 KiB. */
  recentBytes?: number;
  /** Longest frame; default 64 KiB. */
  frameBytes?: number;
}

const defaultTimes: ConsoleTimes = {
  keepMs: 60_000,
  idleMs: 30 * 60_000,
  pingMs: 15_000,
  flushMs: 50,
};
const defaultMaxPerPerson = 16;
const defaultMaxPerTeam = 128;
const defaultMax = 512;
const kibibyte = 1024;
/** Part of the second within which a lost right has to take effect. */
const recheckPauseMs = 100;

export class Consoles implements ConsoleDoor {
  readonly #options: ConsolesOptions;
  readonly #clock: Clock;
  readonly #sessions = new Map<string, ConsoleSession>();
  /** Places taken, by person and by team. */
  readonly #taken = new OwnTally();
  /** Consoles that were reported as opened, and whose end has to be reported. */
  readonly #opened = new Set<string>();
  readonly #stopListening: () => void;
  #cancelRecheck: (() => void) | undefined;
  #draining = false;

  constructor(options: ConsolesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#stopListening = options.onRightsChange(() => {
      this.#cancelRecheck ??= this.#clock.after(recheckPauseMs, () => {
        this.#cancelRecheck = undefined;
        for (const session of [...this.#sessions.values()]) this.#recheck(session);
      });
    });
  }

  /** How many consoles are open or kept, for the metrics. */
  get size(): number {
    return this.#sessions.size;
  }

  async open(wanted: OpenConsole): Promise<string> {
    this.#assertOpen();
    const team = this.#reserve(wanted);
    const session = this.#newSession(wanted, team);
    try {
      const terminal = await this.#openTerminal(session, wanted);
      session.begin(terminal);
      this.#assertOpen();
      this.#assertStanding(session, wanted.person);
    } catch (error) {
      session.end('closed');
      throw error;
    }
    this.#options.onOpened(wanted, session.id);
    if (session.isOpen) this.#opened.add(session.id);
    else this.#options.onEnded(wanted, session.id, 'exited');
    return session.id;
  }

  admit(named: NamedConsole, size: ConsoleSize | null): Promise<void> {
    return settled(() => {
      const session = this.#use(named, (session) => session.mayBeWatched);
      if (size !== null) session.resize(size.cols, size.rows);
    });
  }

  watch({ sessionId, person }: NamedConsole, sink: FrameSink): () => void {
    const session = this.#sessions.get(sessionId);
    if (session?.opened.person.userId !== person.userId || !session.mayBeWatched) {
      sink.end(Buffer.from(sseEvent('failure', 'The console has ended.')));
      return () => undefined;
    }
    return session.watch(sink, person);
  }

  write(named: NamedConsole, input: Uint8Array): Promise<void> {
    return settled(() => {
      const session = this.#use(named);
      const { unwrittenBytes = kibibyte * kibibyte } = this.#options;
      if (session.unwritten + input.length > unwrittenBytes) {
        throw new ServiceError('RATE_LIMITED', 'The program has not read what was sent before.');
      }
      session.write(input);
    });
  }

  resize(named: NamedConsole, { cols, rows }: ConsoleSize): Promise<void> {
    return settled(() => this.#use(named).resize(cols, rows));
  }

  close({ sessionId, person, target }: NamedConsole): Promise<CloseOutcome> {
    return settled(() => {
      const session = this.#sessions.get(sessionId);
      if (session === undefined || !isOf(session, target)) return 'gone';
      if (session.opened.person.userId !== person.userId) return 'foreign';
      session.end('closed');
      return 'closed';
    });
  }

  /** Ends all consoles with `exit` and opens no more. */
  drain(): void {
    this.#draining = true;
    this.#stopListening();
    this.#cancelRecheck?.();
    for (const session of [...this.#sessions.values()]) session.end('drained');
  }

  #newSession(opened: OpenConsole, team: string): ConsoleSession {
    const { onEnded, frameBytes, recentBytes } = this.#options;
    const id = newId('str', this.#clock.now());
    const session: ConsoleSession = new ConsoleSession({
      ...defaultTimes,
      ...this.#options,
      id,
      opened,
      clock: this.#clock,
      frameBytes: frameBytes ?? 64 * kibibyte,
      recentBytes: recentBytes ?? 64 * kibibyte,
      onPing: () => {
        // A sign-in that expires changes nothing in the store, so it is noticed here.
        this.#recheck(session);
      },
      onEnd: (why) => {
        if (this.#opened.delete(id)) onEnded(opened, id, why);
      },
      onForgotten: () => {
        this.#sessions.delete(id);
        this.#taken.remove(opened.person.userId);
        this.#taken.remove(team);
      },
    });
    this.#sessions.set(id, session);
    return session;
  }

  async #openTerminal(session: ConsoleSession, wanted: OpenConsole): Promise<Terminal> {
    const { driverOf, programs } = this.#options;
    const driver = driverOf(wanted.target);
    const { target, container, cols, rows } = wanted;
    const events: TerminalEvents = {
      output: (bytes) => session.output(bytes),
      exit: ({ lost }) => session.exit(lost),
    };
    const { workloadId, command, env } = await programs.program(target, container);
    if (wanted.mode === 'attach') return await driver.attach(workloadId, { cols, rows }, events);
    return await driver.openTerminal(workloadId, { command, env, cols, rows }, events);
  }

  /** The console, if the caller opened it and may still use it. */
  #use(
    { sessionId, person, target }: NamedConsole,
    isThere = (session: ConsoleSession): boolean => session.isOpen,
  ): ConsoleSession {
    const session = this.#sessions.get(sessionId);
    if (session === undefined || !isThere(session) || !isOf(session, target)) {
      throw new ServiceError('NO_SUCH_SESSION', 'There is no such console, or it has ended.');
    }
    if (session.opened.person.userId !== person.userId) {
      throw new ServiceError('FORBIDDEN', 'Only who opened a console may use it.');
    }
    this.#assertStanding(session, person);
    return session;
  }

  /** Checks the caller, whose sign-in may be another than the one that opened the console. */
  #assertStanding(session: ConsoleSession, person: Person): void {
    switch (this.#standing(person, session.opened.target)) {
      case 'allowed':
        return;
      case 'gone':
        session.end('gone');
        throw new ServiceError('NO_SUCH_SESSION', 'There is no such console, or it has ended.');
      case 'refused':
        this.#recheck(session);
        throw new ServiceError('FORBIDDEN', 'You may no longer use this console.');
    }
  }

  #recheck(session: ConsoleSession): void {
    if (!session.mayBeWatched) return;
    switch (this.#standing(session.person, session.opened.target)) {
      case 'allowed':
        return;
      case 'gone':
        session.end('gone');
        return;
      case 'refused':
        session.fail('refused', 'You may no longer use this console.');
    }
  }

  #standing(person: Person, target: ConsoleTarget): ConsoleStanding {
    try {
      return this.#options.standing(person, target);
    } catch (error) {
      this.#options.logger.warn({ target: target.id, err: error }, 'console_rights_unknown');
      return 'refused';
    }
  }

  #assertOpen(): void {
    if (this.#draining) throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
  }

  /** Returns the key by which the team is counted. */
  #reserve({ person: { userId }, target }: OpenConsole): string {
    const { maxPerPerson = defaultMaxPerPerson, max = defaultMax } = this.#options;
    const { teamOf, maxPerTeam = defaultMaxPerTeam } = this.#options;
    const teamId = teamOf(target);
    const team = `team ${String(teamId)}`;
    const isFull = (): boolean => this.#taken.count(userId) >= maxPerPerson;
    if (isFull()) this.#forgetOver((session) => session.person.userId === userId);
    if (isFull()) {
      throw new ServiceError(
        'TOO_MANY_STREAMS',
        `At most ${String(maxPerPerson)} consoles may be open at a time; close one first.`,
      );
    }
    const isTeamFull = (): boolean => this.#taken.count(team) >= maxPerTeam;
    if (isTeamFull()) this.#forgetOver(({ opened }) => teamOf(opened.target) === teamId);
    if (isTeamFull()) {
      throw new ServiceError('OVERLOADED', 'Too many consoles of this team are open.');
    }
    if (this.#sessions.size >= max) this.#forgetOver(() => true);
    if (this.#sessions.size >= max) {
      throw new ServiceError('OVERLOADED', 'Too many consoles are open on this instance.');
    }
    this.#taken.add(userId);
    this.#taken.add(team);
    return team;
  }

  /** Ends the oldest console that is kept only for its last output. */
  #forgetOver(among: (session: ConsoleSession) => boolean): void {
    const kept = [...this.#sessions.values()].filter((session) => session.isOver && among(session));
    const oldest = kept.find(({ isWatched }) => !isWatched) ?? kept[0];
    oldest?.end('left');
  }
}

function isOf({ opened }: ConsoleSession, { kind, id }: ConsoleTarget): boolean {
  return opened.target.kind === kind && opened.target.id === id;
}

/** Runs `work`; what it throws becomes a rejection. */
function settled<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
