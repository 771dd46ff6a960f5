/**
 * Owns what changed in a team lately, for all who follow it on this thread, and where its apps and databases lie.
 *
 * 1. A change is looked at once, however many follow. Who follows is a position in the list of changes and nothing
 *    else, so one who is slow costs nothing.
 * 2. Of a thing that changed several times only the last change stands. Beyond `kept` things the oldest are
 *    forgotten, and who has not heard of them is told that something is missing.
 * 3. It tells what changed, never to whom: who may see it is judged by whoever reads it.
 */
import type { Reader, JournalEntry } from '../../store/reader-and-journal.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import type { Change, Key } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { type Look, lookAt } from './look.ts';
import {
  isRemovable,
  kindOf,
  readThing,
  removableThings,
  type Thing,
  type ThingKind,
} from './team-things.ts';

export interface ThingChange extends Thing {
  readonly position: number;
}

/** What somebody may do changed, or, with null, what everybody sees who does not see the whole team. */
export interface RightsChange {
  readonly kind: 'rights';
  readonly of: { readonly userId: string } | { readonly roleId: string } | null;
  readonly position: number;
}

export type TeamChange = ThingChange | RightsChange;

type NewChange = Thing | Omit<RightsChange, 'position'>;

/** Where an app or a database lies, and where it lay until when. */
interface Node {
  folderId: string | null;
  /** False in trash, and when it is gone. */
  isThere: boolean;
  readonly left: { readonly folderId: string | null; readonly position: number }[];
}

const keptDefault = 500;
/** Moves of one thing that are remembered; a further one forgets the first. */
const movesMax = 8;

export class TeamFeed {
  readonly #reader: Reader;
  readonly #teamId: string;
  readonly #kept: number;
  /** In the order of their positions. */
  #changes: TeamChange[] = [];
  readonly #latest = new Map<string, number>();
  readonly #nodes = new Map<string, Node>();
  /** Things whose removal says no more than their key: what they are of, by table and key. */
  readonly #removable = new Map<string, string | null>();
  /** What was seen of changes, and at which position of the journal. */
  readonly #looks = new WeakMap<ThingChange, { look: Look; at: number }>();
  #position = 0;
  /** Changes up to this position may be forgotten. */
  #forgotten = 0;

  constructor(reader: Reader, teamId: string, kept = keptDefault) {
    this.#reader = reader;
    this.#teamId = teamId;
    this.#kept = kept;
    this.#look(reader);
  }

  /** Behind the last change. */
  get position(): number {
    return this.#position;
  }

  /** The first change behind a position that still stands; `forgotten` where one may be missing. */
  after(position: number): TeamChange | 'forgotten' | null {
    if (position < this.#forgotten) return 'forgotten';
    for (let i = this.#indexBehind(position); i < this.#changes.length; i += 1) {
      const change = this.#changes[i];
      if (change && this.#latest.get(keyOf(change)) === change.position) return change;
    }
    return null;
  }

  /** What there is to see of a change now. */
  look(change: ThingChange): Look {
    const at = this.#reader.position;
    const known = this.#looks.get(change);
    if (known?.at === at) return known.look;
    const look = lookAt(this.#reader, change);
    this.#looks.set(change, { look, at });
    return look;
  }

  /** Where an app or a database lies, or lay at last; undefined for what is not known here. */
  folderOf(nodeId: string): string | null | undefined {
    return this.#nodes.get(nodeId)?.folderId;
  }

  /** The folders that it lay in, and left behind the position. */
  leftBehind(nodeId: string, position: number): (string | null)[] {
    const { left = [] } = this.#nodes.get(nodeId) ?? {};
    return left.filter((move) => move.position > position).map(({ folderId }) => folderId);
  }

  /** Adds what an entry changed in this team; whether that is anything. */
  take({ actor, changes }: JournalEntry): boolean {
    const before = this.#position;
    const owner = actor.slice(actor.indexOf(':') + 1);
    for (const change of changes) {
      this.#granted(change);
      if (change.table === tables.env.name) this.#variables(change.key);
      else if ('value' in change) this.#put(change.table, change.value);
      else this.#removed(change.table, change.key, owner);
    }
    return this.#position > before;
  }

  /** Adds that a thing changed otherwise than by an entry of its own. */
  touch(kind: ThingKind, id: string, nodeId: string): void {
    this.#add({ kind, id, nodeId });
  }

  #put(table: string, value: unknown): void {
    const found = readThing(table, value);
    if (found?.teamId !== this.#teamId) return;
    const { kind, id, nodeId } = found;
    if (kind === 'app' || kind === 'database') this.#place(id, value as NodeRecord);
    if (isRemovable(table)) this.#removable.set(`${table} ${id}`, nodeId);
    this.#add({ kind, id, nodeId });
    this.#addRights(kind, id);
  }

  #removed(table: string, key: Key, owner: string): void {
    const kind = kindOf(table);
    if (kind === null) return;
    if (kind === 'member') {
      const [teamId, userId] = key;
      if (teamId !== this.#teamId) return;
      this.#add({ kind, id: String(userId), nodeId: null });
      this.#addRights(kind, String(userId));
      return;
    }
    const id = String(key);
    const known = this.#removable.get(`${table} ${id}`);
    const nodeId = known === undefined && this.#nodes.has(owner) ? owner : known;
    if (nodeId === undefined) return;
    this.#removable.delete(`${table} ${id}`);
    if (kind === 'folder') this.#add({ kind: 'rights', of: null });
    this.#add({ kind, id, nodeId });
    this.#addRights(kind, id);
  }

  #addRights(kind: ThingKind, id: string): void {
    if (kind === 'member') this.#add({ kind: 'rights', of: { userId: id } });
    if (kind === 'role') this.#add({ kind: 'rights', of: { roleId: id } });
  }

  /** The variables of an app are one thing: their names are not for everybody who sees the app. */
  #variables(key: Key): void {
    const id = String(typeof key === 'object' ? key[0] : key);
    if (this.#nodes.has(id)) this.#add({ kind: 'env', id, nodeId: id });
  }

  #granted(change: Change): void {
    if (change.table !== tables.folderGrants.name) return;
    const [folderId, userId] = change.key;
    if (!this.#removable.has(`folders ${String(folderId)}`)) return;
    this.#add({ kind: 'rights', of: { userId: String(userId) } });
  }

  #place(id: string, { folderId, deletedAtMs }: NodeRecord): void {
    const isThere = deletedAtMs === null;
    const was = this.#nodes.get(id);
    const left = was?.left ?? [];
    if (was?.isThere === true && (!isThere || was.folderId !== folderId)) {
      // The change that is about to be added has the next position.
      left.push({ folderId: was.folderId, position: this.#position + 1 });
      if (left.length > movesMax) left.shift();
    }
    this.#nodes.set(id, { folderId, isThere, left });
  }

  #add(change: NewChange): void {
    this.#position += 1;
    const placed = { ...change, position: this.#position };
    this.#changes.push(placed);
    this.#latest.set(keyOf(placed), placed.position);
    if (this.#changes.length > 2 * this.#kept) this.#compact();
  }

  /** Forgets changes that later ones stand for, and the oldest of too many. */
  #compact(): void {
    const standing = this.#changes.filter(
      (change) => this.#latest.get(keyOf(change)) === change.position,
    );
    const excess = standing.splice(0, Math.max(0, standing.length - this.#kept));
    for (const change of excess) this.#latest.delete(keyOf(change));
    this.#forgotten = excess.at(-1)?.position ?? this.#forgotten;
    this.#changes = standing;
  }

  /** The index of the first change behind a position. */
  #indexBehind(position: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle]?.position ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** What is there already, so that its removal or its next move is understood. */
  #look(reader: Reader): void {
    const of = [this.#teamId];
    const all = { limit: Infinity };
    for (const app of reader.list(tables.apps, 'team', of, all)) this.#place(app.id, app);
    for (const one of reader.list(tables.databases, 'team', of, all)) this.#place(one.id, one);
    for (const [table, { kind, id, nodeId }] of removableThings(reader, this.#teamId)) {
      this.#removable.set(`${table} ${id}`, nodeId);
      if (kind !== 'trash' || nodeId === null) continue;
      const trashed = reader.get(tables.apps, nodeId) ?? reader.get(tables.databases, nodeId);
      if (trashed) this.#place(nodeId, trashed);
    }
  }
}

type NodeRecord = Pick<AppRecord | DatabaseRecord, 'folderId' | 'deletedAtMs'>;

function keyOf(change: TeamChange): string {
  if (change.kind !== 'rights') return `${change.kind} ${change.id}`;
  return `rights ${JSON.stringify(change.of)}`;
}
