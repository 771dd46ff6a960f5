/** Owns what is told of a machine, so that its paths are known elsewhere. */
import type { MachineFacts } from '../protocol/agent-place.ts';
import type { Machine } from './place.ts';
import { isIn, numberIn, orNull, recordIn, refused, textIn, textsIn } from './plain-values.ts';

const absolute = /^\/[^\0]{0,4000}$/;
const [foldersMax, variablesMax, uidMax] = [100, 100, 0xffff_ffff];

export function factsOf(appsRoot: string, machine: Machine): MachineFacts {
  const { uids, namedUid, toolchain, buildEnv, tools } = machine;
  return {
    ...{ appsRoot, hasOwnUids: uids !== null, namedUid, buildEnv },
    toolchain: { ...toolchain },
    path: tools.path,
  };
}

/** Throws BAD_REQUEST. */
export function factsIn(answer: unknown): MachineFacts {
  const facts = recordIn(answer);
  const toolchain = recordIn(facts['toolchain']);
  const env = Object.entries(recordIn(facts['buildEnv']));
  if (env.length > variablesMax || env.some(([, value]) => typeof value !== 'string')) {
    throw refused('variables that are not allowed');
  }
  return {
    appsRoot: textIn(facts, 'appsRoot', absolute),
    hasOwnUids: isIn(facts, 'hasOwnUids'),
    namedUid: orNull(facts, 'namedUid', () => numberIn(facts, 'namedUid', uidMax)),
    toolchain: {
      path: textsIn(toolchain, 'path', foldersMax, absolute),
      node: textIn(toolchain, 'node', absolute),
      staticServer: textIn(toolchain, 'staticServer', absolute),
      nodeVersion: textIn(toolchain, 'nodeVersion', /^[\w.+-]{1,64}$/),
    },
    buildEnv: Object.fromEntries(env) as Record<string, string>,
    path: textsIn(facts, 'path', foldersMax, absolute),
  };
}
