/**
 * Owns which values of an app's variables are known to everybody who sees the app. A variable is
 * secret unless its writer says otherwise, and an answer without the app's own name or address would
 * be of no use.
 */
import type { Reader } from '../../store/contract.ts';
import { tables } from '../../store/tables.ts';

/** Tells of a value whether it names the app, its team, or another app of the team. */
export function publicValues(
  reader: Pick<Reader, 'get' | 'find'>,
  appId: string,
): (value: string) => boolean {
  const app = reader.get(tables.apps, appId);
  if (app === undefined) return () => false;
  const team = reader.get(tables.teams, app.teamId);
  const names = new Set([app.id, app.name, app.slug, app.teamId, team?.slug, team?.name]);
  const isSlug = (text: string): boolean =>
    reader.find(tables.apps, 'slug', [text])?.teamId === app.teamId;
  return (value) => {
    const text = value.trim();
    if (names.has(text) || isSlug(text)) return true;
    const host = /^https?:\/\/([a-z0-9-]{1,63})(?:\.[a-z0-9.-]{1,253})?(?::\d{1,5})?\/?$/.exec(
      text,
    );
    return host?.[1] !== undefined && isSlug(host[1]);
  };
}
