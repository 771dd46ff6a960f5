/** Owns how entries of the activity read: `createApp` as "Create app", `app:app_1 Shop` as Shop. */

/** The action in words; what is not known reads as its name. */
export function actionWords(action: string): string {
  const spaced = action
    .replaceAll('_', ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

export interface Actor {
  name: string;
  /** How it acted, where it was no person in a browser. */
  by: string | null;
}

/** See `ActivityEntry.actor` in the schema. */
export function actorOf(actor: string): Actor {
  const at = actor.indexOf(':');
  const kind = at < 0 ? actor : actor.slice(0, at);
  const rest = actor.slice(at + 1);
  switch (kind) {
    case 'person':
      return { name: rest, by: null };
    case 'token':
      return { name: rest, by: 'API token' };
    case 'client':
      return { name: rest, by: 'MCP or OAuth client' };
    default:
      return { name: kind === 'nobody' ? 'Nobody signed in' : actor, by: null };
  }
}

export interface Target {
  /** Its name, or its id where it has none. */
  name: string;
  /** As it stands in the entry. */
  exact: string;
}

/** See `ActivityEntry.target`: a kind, an id, and the name that it had. */
export function targetOf(target: string): Target {
  const [, id, name] = /^[a-z_]+:(\S+)(?: (.*))?$/is.exec(target) ?? [];
  return { name: name ?? id ?? target, exact: target };
}
