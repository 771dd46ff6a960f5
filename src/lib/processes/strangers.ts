/**
 * Owns the look whether a workload of this machine, of ours or of another Gangway, has a connection to a port of
 * its loopback: its uid tells. It is made in one turn of the loop, so that nothing comes or goes between.
 */
import { pagesNow } from './socket-tables.ts';
import { isProgramUid } from './program-uids.ts';

/** The state, and the other end where that is on loopback; then uid and inode. */
const connections =
  /: [0-9A-F]+:[0-9A-F]{4} (?:0{16}FFFF0000)?(?:[0-9A-F]{6}7F|0{24}01000000):([0-9A-F]{4}) ([0-9A-F]{2}) \S+ \S+ \S+ +(\d+) +\d+ (\d+) /g;
/** Those that nobody is behind any more. */
const timeWait = '06';
/** Some 50,000 sockets. */
const pagesMax = 2048;

/**
 * Also true for a connection that its program has closed and that is there still, whose uid is not known, and
 * where the machine has more sockets than are looked at.
 */
export function hasStrangers(port: number, dir = '/proc/net'): boolean {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const name of ['tcp', 'tcp6']) {
    let pages = 0;
    for (const text of pagesNow(`${dir}/${name}`)) {
      if (++pages > pagesMax) return true;
      for (const [, to, state, uid, inode] of text.matchAll(connections)) {
        if (to !== wanted || state === timeWait) continue;
        if (inode === '0' || isProgramUid(Number(uid))) return true;
      }
    }
  }
  return false;
}
