/**
 * Owns the start of a program beside a workload's own: in the same place, with the same uid and variables,
 * marked so that all it starts is found and ended with it.
 */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { constants } from 'node:os';

import { ServiceError } from '../../lib/errors.ts';
import { confined } from './limits/launch.ts';
import type { Part } from './isolation/compartment.ts';
import {
  markVariable,
  type Membership,
  readProcess,
  sessionVariable,
} from '../../lib/processes/processes.ts';
import type { Ground } from './ground.ts';

export interface BesideStart {
  ground: Ground;
  /** Unlike that of any other command. */
  name: string;
  part: Part;
  command: readonly string[];
  /** Besides the workload's own variables. */
  env: Readonly<Record<string, string>>;
  stdio: StdioOptions;
}

export interface Beside {
  membership: Membership;
  /** As shells tell it: 128 + the signal's number when one ended it. Rejects with BAD_USER_INPUT: no such program. */
  exit: Promise<number>;
}

/** Throws when the system cannot take the arguments at all. */
export function startBeside({ ground, name, part, command, env, stdio }: BesideStart): Beside {
  const mark = `${ground.mark}/${name}`;
  const marks = { [markVariable]: ground.mark, [sessionVariable]: mark };
  const { workingDir, uid, waits } = ground;
  const own = { command, workingDir, env: { ...marks, ...ground.env, ...env, ...marks }, uid };
  const start = confined(own, part.place, Object.keys(marks));
  const [program = '', ...args] = start.command;
  const child = spawn(program, args, {
    cwd: start.workingDir,
    env: { ...start.env },
    detached: true,
    stdio,
    ...(start.uid !== null && { uid: start.uid, gid: start.uid }),
  });
  const exit = exitOf(child);
  const { pid } = child;
  const first = pid === undefined ? null : { pid, startTicks: readProcess(pid)?.startTicks ?? 0 };
  const { group, within } = part;
  return {
    exit,
    membership: { variable: sessionVariable, mark, first, waits, uid, group, within },
  };
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
    child.once('error', (error) => {
      if (child.pid !== undefined) return; // A signal that could not be sent.
      reject(new ServiceError('BAD_USER_INPUT', 'There is no such program.', { cause: error }));
    });
  });
}
