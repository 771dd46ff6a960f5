/**
 * Owns the user ids that programs of workloads run under, above those that people and packages use, and whether
 * this process may give them: root of a user namespace, as in many containers, has those alone that are mapped
 * there.
 */
import fs from 'node:fs';

export const appUids = { first: 200_000, last: 299_999 };
export const databaseUids = { first: 300_000, last: 309_999 };
/** Of git, which reads what strangers wrote: each repository has one of these. */
export const gitUids = { first: 310_000, last: 319_999 };
/** Of the edge, which reads what visitors send. */
export const edgeUid = 320_000;

/** Whether no person and no package of the machine has it: a workload or an edge has, of ours or of another Gangway. */
export function isProgramUid(uid: number): boolean {
  return uid >= appUids.first && uid <= edgeUid;
}

/** `map`: as in user_namespaces(7). */
export function mayGiveUids(uid = process.getuid?.(), map = uidMap()): boolean {
  if (uid !== 0) return false;
  return map.split('\n').some((line) => {
    const [first = NaN, , count = NaN] = line.trim().split(/\s+/).map(Number);
    return first <= appUids.first && first + count > edgeUid;
  });
}

function uidMap(): string {
  try {
    return fs.readFileSync('/proc/self/uid_map', 'latin1');
  } catch {
    return '0 0 4294967295'; // No system with user namespaces.
  }
}
