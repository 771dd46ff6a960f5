/** Owns the permission of a person at a repository, as GitHub, Gitea and Forgejo tell it. */
import { textAt } from './payload.ts';

const writing: ReadonlySet<string | null> = new Set(['write', 'maintain', 'admin', 'owner']);

/** `answer`: undefined where nobody of this name is known there, null where it is not told. */
export function mayWrite(answer: unknown): boolean | null {
  return answer === null ? null : writing.has(textAt(answer, 'permission'));
}
