/**
 * Owns the subscription to all that changes in a team.
 *
 * 1. What is told is judged when it is told, for who is told: what the caller cannot see is not named, nor when it goes.
 *    What it could see and sees no more is told as gone.
 * 2. The caller's rights are judged anew as soon as anybody's may have changed, and twice a second.
 * 3. Who is slow holds a place in the list of changes, and no list of its own.
 */
import { instanceTarget } from '../../actors/backup/protocol.ts';
import { actingTeam, can, type Sight, sightOf } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import { tables } from '../../store/records/tables.ts';
import { requireSignedIn, writeSide } from '../access.ts';
import type { GraphContext, TeamView } from '../context.ts';
import { Bell } from '../live/bell.ts';
import { type Look, tellOf, type Told } from '../live/look.ts';
import type { RightsChange, TeamChange, ThingChange } from '../live/team-feed.ts';
import { needed } from '../live/team-things.ts';
import { AppType } from './apps.ts';
import { BackupRunType } from './backups.ts';
import { builder } from './builder.ts';
import { DatabaseType } from './databases.ts';
import { DeploymentType } from './deployments.ts';
import { RestoreRunType } from './restores.ts';

const TeamChangeType = builder.objectRef<Told>('TeamChange').implement({
  description:
    'One thing that changed, as it is now. Of things without a field here the kind and the id are told.',
  fields: (t) => ({
    kind: t.exposeString('kind', {
      description:
        'app, env (the variables of an app, by its id), database, deployment, backupRun, backupSchedule, restoreRun, preview, domain, gitDelivery, trash, folder, member, role, team, destination, gitConnection, registry or invite; `ready` once, first: from here on everything is told; `refetch`: what the caller sees may be different altogether. More kinds may come.',
    }),
    id: t.exposeID('id', { description: 'Of ready and refetch: that of the team.' }),
    app: t.expose('app', {
      type: AppType,
      nullable: true,
      description: 'The app, or of a domain its app. Null where it is gone, as into trash.',
    }),
    database: t.expose('database', { type: DatabaseType, nullable: true }),
    deployment: t.expose('deployment', { type: DeploymentType, nullable: true }),
    backupRun: t.expose('backupRun', { type: BackupRunType, nullable: true }),
    restoreRun: t.expose('restoreRun', { type: RestoreRunType, nullable: true }),
  }),
});

builder.queryField('position', (t) =>
  t.float({
    description: 'Grows with what changes on the instance; see `teamChanges(since:)`.',
    resolve: (_root, _args, context) => {
      requireSignedIn(context);
      return context.read.reader.position;
    },
  }),
);

builder.subscriptionField('teamChanges', (t) =>
  t.field({
    type: TeamChangeType,
    description:
      'What changes in the acting team, as far as the caller sees it: apps, databases and what belongs to them, folders, people. Many changes of one thing may come as one.',
    args: {
      since: t.arg.float({
        description:
          'A `position` that was read before what the caller has: where anything changed behind it, `refetch` follows `ready`. Without it a caller who connects fetches all of it again.',
      }),
    },
    subscribe: (_root, { since }, context) =>
      follow(context, actingTeam(context.principal), since ?? null),
    resolve: (told) => told,
  }),
);

function follow(
  context: GraphContext,
  teamId: string,
  since: number | null,
): AsyncGenerator<Told, void> {
  // A refusal is the answer to the subscription, not its first event.
  sightOf(context.read.reader, context.principal, teamId);
  return changes(context, teamId, since);
}

async function* changes(
  context: GraphContext,
  teamId: string,
  since: number | null,
): AsyncGenerator<Told, void> {
  const bell = new Bell(context.call.signal);
  const follower = new Follower(context, teamId, bell.ring);
  try {
    follower.check();
    const isBehind = since !== null && writeSide(context).live.changedSince(since);
    yield tellOf('ready', teamId);
    if (isBehind) yield tellOf('refetch', teamId);
    while (!bell.isSilenced()) {
      follower.check();
      const change = follower.next();
      if (change === null) await bell.rung();
      else if (change !== 'hidden') yield change;
    }
  } finally {
    follower.leave();
    bell.remove();
  }
}

class Follower {
  readonly #context: GraphContext;
  readonly #teamId: string;
  readonly #view: TeamView;
  #position: number;
  #sight: Sight = { whole: false, sees: () => false };
  /** The version of rights that was judged; null: judge again. */
  #judged: number | null = null;

  constructor(context: GraphContext, teamId: string, ring: () => void) {
    this.#context = context;
    this.#teamId = teamId;
    this.#view = writeSide(context).live.followTeam(teamId, (changed) => {
      // Time alone may have ended a session or a token.
      if (!changed) this.#judged = null;
      ring();
    });
    this.#position = this.#view.feed.position;
  }

  leave(): void {
    this.#view.leave();
  }

  /** Throws when the caller may follow the team no more. */
  check(): void {
    const version = this.#view.rightsVersion();
    if (this.#judged === version) return;
    const { principal, read } = this.#context;
    if (!writeSide(this.#context).live.stillValid(principal)) {
      throw new ServiceError('UNAUTHENTICATED', 'The session or token ended.');
    }
    this.#sight = sightOf(read.reader, principal, this.#teamId);
    this.#judged = version;
  }

  /** The next change that the caller may hear of; null when there is none; call it after `check`. */
  next(): Told | 'hidden' | null {
    const { feed } = this.#view;
    const before = this.#position;
    const change = feed.after(before);
    if (change === null) return null;
    if (change === 'forgotten') {
      this.#position = feed.position;
      return tellOf('refetch', this.#teamId);
    }
    this.#position = change.position;
    return this.#tell(change, before) ?? 'hidden';
  }

  #tell(change: TeamChange, before: number): Told | null {
    if (change.kind === 'rights') {
      return this.#concerns(change) ? tellOf('refetch', this.#teamId) : null;
    }
    const { kind, nodeId } = change;
    const look = this.#view.feed.look(change);
    if (nodeId === null) return this.#seesOwn(change) ? look.gone : null;
    if (nodeId === instanceTarget) return this.#seesInstance() ? look.trashed : null;
    const state = this.#stateOf(nodeId, look.node, before);
    if (state === 'there') return look.there;
    if (state === 'trashed') return look.trashed;
    const isNode = kind === 'app' || kind === 'database';
    const isTold = state === 'left' ? isNode : state === 'purged' && (isNode || kind === 'trash');
    return isTold ? look.gone : null;
  }

  #concerns({ of }: RightsChange): boolean {
    if (of === null) return !this.#sight.whole;
    const { principal, read } = this.#context;
    if (principal.kind === 'anonymous') return false;
    if ('userId' in of) return of.userId === principal.userId;
    const member = read.reader.get(tables.members, [this.#teamId, principal.userId]);
    return member?.roleId === of.roleId;
  }

  /** Whether the caller sees a thing of the team itself; members and roles everybody does. */
  #seesOwn({ kind, id }: ThingChange): boolean {
    const need = needed[kind];
    if (need !== undefined) {
      const { read, principal } = this.#context;
      return can(read.reader, principal, need, { kind: 'team', teamId: this.#teamId });
    }
    if (kind !== 'folder' || this.#sight.whole) return true;
    const folder = this.#context.read.reader.get(tables.folders, id);
    return folder !== undefined && this.#sight.sees(id, null);
  }

  #seesInstance(): boolean {
    const { principal, read } = this.#context;
    return can(read.reader, principal, null, { kind: 'backup', teamId: this.#teamId });
  }

  /** How the caller sees an app or a database: `left` where it saw it, and sees it no more. */
  #stateOf(
    nodeId: string,
    record: Look['node'],
    before: number,
  ): 'there' | 'trashed' | 'purged' | 'left' | 'hidden' {
    const { feed } = this.#view;
    const { sees, whole } = this.#sight;
    if (record === undefined) {
      if (whole) return 'trashed';
      const last = feed.folderOf(nodeId);
      return last !== undefined && sees(last, null) ? 'purged' : 'hidden';
    }
    const isThere = record.deletedAtMs === null;
    if (sees(record.folderId, isThere ? nodeId : null)) return isThere ? 'there' : 'trashed';
    const left = feed.leftBehind(nodeId, before);
    return left.some((folderId) => sees(folderId, nodeId)) ? 'left' : 'hidden';
  }
}
