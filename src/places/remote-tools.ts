/** Owns the programs of another server, as its agent tells of them. */
import type { AgentLink } from '../protocol/agent-link.ts';
import { placeCalls, type ToolsRequest } from '../protocol/agent-place.ts';
import type { MachineTools } from './place.ts';
import { orNull, recordIn, textIn, textsIn } from './plain-values.ts';

const absolute = /^\/[^\0]{0,4000}$/;
const postgresMax = 100;

/** `path`: as the machine told it. */
export function remoteTools(link: AgentLink, path: readonly string[]): MachineTools {
  const ask = async (request: ToolsRequest): Promise<Readonly<Record<string, unknown>>> =>
    recordIn({ answer: await link.call(placeCalls.tools, request) });
  return {
    path,
    find: async (names, folders = []) => {
      const told = await ask({ op: 'find', names, folders });
      return orNull(told, 'answer', () => textIn(told, 'answer', absolute));
    },
    ask: async (program, args) => {
      const told = await ask({ op: 'ask', program, args });
      return orNull(told, 'answer', () => textIn(told, 'answer'));
    },
    ownPostgres: async () => {
      const told = await ask({ op: 'ownPostgres' });
      return orNull(told, 'answer', () => {
        const own = recordIn(told['answer']);
        const version = textIn(own, 'version', /^\d{1,4}(\.\d{1,4}){0,3}$/);
        return { bin: textIn(own, 'bin', absolute), version };
      });
    },
    packagedPostgres: async () =>
      textsIn(await ask({ op: 'packagedPostgres' }), 'answer', postgresMax, absolute),
    sqlPrompt: async () => {
      const prompt = recordIn((await ask({ op: 'sqlPrompt' }))['answer']);
      return {
        node: textIn(prompt, 'node', absolute),
        program: textIn(prompt, 'program', absolute),
      };
    },
  };
}
