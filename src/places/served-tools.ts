/** Owns which programs of an agent's machine may be looked for and asked over the link. */
import { ServiceError } from '../lib/errors.ts';
import type { MachineTools } from './place.ts';
import { oneIn, recordIn, textIn, textsIn } from './plain-values.ts';

const programName = /^\w[\w.+-]{0,63}$/;
const folder = /^\/(?!.*\/\.\.?(?:\/|$))[\w./+-]{1,1000}$/;
const [namesMax, foldersMax, argsMax] = [16, 16, 8];
/** What programs are asked for: their versions. */
const argument = /^-{1,2}[a-z-]{1,32}$/;

export async function answerTools(tools: MachineTools, message: unknown): Promise<unknown> {
  const request = recordIn(message);
  const ops = ['find', 'ask', 'ownPostgres', 'packagedPostgres', 'sqlPrompt'] as const;
  switch (oneIn(request, 'op', ops)) {
    case 'find':
      return tools.find(
        textsIn(request, 'names', namesMax, programName),
        textsIn(request, 'folders', foldersMax, folder),
      );
    case 'ask':
      return tools.ask(
        textIn(request, 'program', folder),
        textsIn(request, 'args', argsMax, argument),
      );
    case 'ownPostgres':
      return tools.ownPostgres();
    case 'packagedPostgres':
      return tools.packagedPostgres();
    case 'sqlPrompt':
      return tools.sqlPrompt().catch((cause: unknown) => {
        const why = 'That server has no psql, and its agent came without a prompt of its own.';
        throw new ServiceError('ENGINE_NOT_AVAILABLE', why, { cause });
      });
  }
}
