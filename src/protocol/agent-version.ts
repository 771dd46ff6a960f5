/** Owns which releases of Gangway and of its agents understand each other: one minor release apart, either way. */

const release = /^(\d{1,6})\.(\d{1,6})\.\d{1,6}(?:[-+][\w.+-]{0,100})?$/;

export function isRelease(version: string): boolean {
  return release.test(version);
}

/** Why they do not, as a sentence; null: they do. */
export function misfitOf(own: string, agent: string): string | null {
  const [, ownMajor, ownMinor] = release.exec(own) ?? [];
  const [, major, minor] = release.exec(agent) ?? [];
  if (ownMajor === undefined || major === undefined) {
    return 'The agent does not say which release it is.';
  }
  if (ownMajor === major && Math.abs(Number(ownMinor) - Number(minor)) <= 1) return null;
  const isOlder =
    major === ownMajor ? Number(minor) < Number(ownMinor) : Number(major) < Number(ownMajor);
  const what = isOlder ? 'Update the agent.' : 'Update Gangway first.';
  return `The agent is release ${agent}, Gangway is ${own}: they may be one minor release apart. ${what}`;
}
