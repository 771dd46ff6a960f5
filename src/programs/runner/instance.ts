/** Owns the names by which runners tell apart what is theirs on a machine: one a data directory. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { createFileWhole } from '../../lib/whole-file.ts';
import { runnerStateDir } from '../../protocol/runner-version.ts';

const fileName = 'instance';
const option = '--data-dir';

/**
 * The name of this state folder, the same as long as it lives, and another one for a copy of it. Made when
 * there is none.
 */
export function instanceOf(stateDir: string): string {
  const file = path.join(stateDir, fileName);
  if (!fs.existsSync(file)) {
    // Of two runners that start at once, both go by the name of the first.
    createFileWhole(file, randomBytes(12).toString('hex'));
  }
  return readInstance(stateDir);
}

function readInstance(stateDir: string): string {
  const { dev, ino } = fs.statSync(stateDir);
  const name = fs.readFileSync(path.join(stateDir, fileName), 'utf8');
  return `${name}-${dev.toString(36)}-${ino.toString(36)}`;
}

/** Names of the runners that run under our user now, by their command lines; apps have other users. */
export function livingInstances(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const pid of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (fs.statSync(`/proc/${pid}`).uid !== process.getuid?.()) continue;
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const dataDir = words.includes(option) ? words[words.indexOf(option) + 1] : undefined;
      if (dataDir !== undefined) found.add(readInstance(path.join(dataDir, runnerStateDir)));
    } catch {
      // It ended meanwhile, or is no runner.
    }
  }
  return found;
}
