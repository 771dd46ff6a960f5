/**
 * Owns where the edge reaches the panel, and apps of other servers: Unix sockets in a folder of the data directory that the edge may enter, and
 * no app. It may not write there, so what lies there is Gangway's.
 */
import fs from 'node:fs';
import path from 'node:path';

import { edgeUid, mayGiveUids } from '../lib/processes/program-uids.ts';
import { runnerSocketDir } from './runner-version.ts';

/**
 * Makes the folder unless it is there. A process that starts in it reaches the sockets by their names, also once it
 * could not walk to them any more.
 */
export function preparePanelDir(dataDir: string): string {
  const dir = path.join(dataDir, runnerSocketDir, 'panel');
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (mayGiveUids()) {
    // The group of the edge has the number of its user.
    fs.chownSync(dir, 0, edgeUid);
    fs.chmodSync(dir, 0o710);
  }
  return dir;
}

/** The name of the socket that leads to an app of another server. */
export function appSocketOf(appId: string): string {
  return `${appId}.sock`;
}

/** The name of the socket of a gateway thread, counted from 0. */
export function panelSocketOf(thread: number): string {
  return `panel-${String(thread)}.sock`;
}
