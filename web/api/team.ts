/** Owns which team this tab acts in: kept over reloads of the tab; none means the session's own. */
const key = 'gangway.team';

export const actingTeam = {
  get(): string | null {
    return sessionStorage.getItem(key);
  },
  /** The id of a team; null: the session's own. */
  set(id: string | null): void {
    if (id === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, id);
  },
};
