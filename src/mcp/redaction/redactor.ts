/**
 * Owns taking the secrets of teams out of what their members' agents are given.
 *
 * 1. Values are opened when they are first needed, and are in memory only, of so many teams and
 *    characters at most.
 * 2. A redaction knows every value that is in force: the journal entry that changes a variable or a
 *    password, or takes an app away, changes what is known before the change is answered.
 * 3. Nothing here takes long at a time, for who awaits `open`: others run between two apps.
 * 4. An answer to one team never meets the secrets of another.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Journal, JournalEntry } from '../../store/reader-and-journal.ts';
import type {
  AppRecord,
  DatabaseRecord,
  GitConnectionRecord,
} from '../../store/records/records.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { Redaction } from './redaction.ts';
import type { Sees } from './secret-index.ts';
import { TeamSecrets, type TeamSecretsOptions } from './team-secrets.ts';

export interface RedactorOptions extends Omit<TeamSecretsOptions, 'charsMax'> {
  subscribe: Journal['subscribe'];
  limits?: Partial<RedactorLimits>;
}

export interface RedactorLimits {
  /** Teams kept ready; those not asked for the longest go first. */
  teams: number;
  /** Characters of all forms of all values kept, beside those of one team, and of that team. */
  chars: number;
}

const limitDefaults: RedactorLimits = { teams: 512, chars: 32 * 2 ** 20 };

export class Redactor {
  readonly #options: RedactorOptions;
  readonly #limits: RedactorLimits;
  /** By id, the least recently used first. */
  readonly #teams = new Map<string, TeamSecrets>();
  readonly #unsubscribe: () => void;

  constructor(options: RedactorOptions) {
    this.#options = options;
    this.#limits = { ...limitDefaults, ...options.limits };
    this.#unsubscribe = options.subscribe((entry) => this.#follow(entry));
  }

  /** Opens what `redact` needs for one app of a team, or for the whole team; null when it is open. */
  open(teamId: string, isForApp: boolean): Promise<void> | null {
    const team = this.#team(teamId);
    return team.isOpen(isForApp) ? null : openInTurns(team, isForApp);
  }

  /**
   * Takes out what an answer to this team must not hold: values of the app that it tells of, named by
   * id or slug, or of all apps of the team where it may tell of any, and of databases: any program of
   * the team may be told their passwords. `sees` leaves out apps and databases that the caller cannot
   * see, whose values would tell by their absence what they are; not a value that the app itself has.
   * What is not open is opened here and now; await `open` before, where there is time.
   */
  redact(text: string, teamId: string, appId?: string, sees?: Sees): string {
    const team = this.#team(teamId);
    const app = appId === undefined ? undefined : this.#appOf(teamId, appId);
    for (const steps = team.open(app !== undefined); steps.next().done !== true;);
    if (app === undefined) {
      const all = sees && ((owner: string) => team.hasConnection(owner) || sees(owner));
      return new Redaction(team.index, all).any(text);
    }
    team.openApp(app.id);
    const counts: Sees = (owner) =>
      owner === app.id ||
      team.hasConnection(owner) ||
      (team.hasDatabase(owner) && (sees === undefined || sees(owner)));
    return new Redaction(team.index, counts).any(text);
  }

  /** Forgets everything and stops listening. */
  close(): void {
    this.#unsubscribe();
    this.#teams.clear();
  }

  #team(teamId: string): TeamSecrets {
    const known = this.#teams.get(teamId);
    this.#teams.delete(teamId);
    if (known === undefined) this.#makeRoom();
    const team =
      known ?? new TeamSecrets(teamId, { ...this.#options, charsMax: this.#limits.chars });
    this.#teams.set(teamId, team);
    return team;
  }

  #makeRoom(): void {
    let chars = 0;
    for (const { index } of this.#teams.values()) chars += index.chars;
    for (const [id, { index }] of this.#teams) {
      if (this.#teams.size < this.#limits.teams && chars <= this.#limits.chars) return;
      this.#teams.delete(id);
      chars -= index.chars;
    }
  }

  #appOf(teamId: string, idOrSlug: string): Readonly<AppRecord> | undefined {
    const { reader } = this.#options;
    const named = reader.get(tables.apps, idOrSlug) ?? reader.find(tables.apps, 'slug', [idOrSlug]);
    // The variables of a preview are its app's.
    const app = named?.previewOf ? reader.get(tables.apps, named.previewOf.appId) : named;
    return app?.teamId === teamId ? app : undefined;
  }

  #follow({ changes }: JournalEntry): void {
    if (this.#teams.size === 0) return;
    // Of many variables in one entry each app is read once.
    const inEnv = changes.filter(({ table }) => table === tables.env.name);
    const appIds = new Set(inEnv.map(({ key }) => String((key as readonly string[])[0])));
    for (const team of this.#teams.values()) {
      for (const appId of appIds) team.followVariables(appId);
      for (const change of changes) followChange(team, change);
    }
  }
}

async function openInTurns(team: TeamSecrets, isForApp: boolean): Promise<void> {
  for (const steps = team.open(isForApp); steps.next().done !== true;) await turn();
}

function followChange(team: TeamSecrets, change: Change): void {
  const value = 'value' in change ? change.value : null;
  if (change.table === tables.databases.name) {
    team.followDatabase(change.key as string, value as DatabaseRecord | null);
  } else if (change.table === tables.apps.name) {
    team.followApp(change.key as string, value as AppRecord | null);
  } else if (change.table === tables.gitConnections.name) {
    team.followConnection(change.key as string, value as GitConnectionRecord | null);
  }
}
