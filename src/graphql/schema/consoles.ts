/** Owns single commands in the schema; an open console is a transport of its own. */
import type { CommandOutcome, WantedCommand } from '../../consoles/commands.ts';
import { activityLog } from '../../actors/activity/protocol.ts';
import { requireApp, requireDatabase, requireSignedIn, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { type Builder, exec } from './builder.ts';

export function addConsoles(builder: Builder): void {
  const result = builder.objectRef<CommandOutcome>('ExecResult').implement({
    fields: (t) => ({
      output: t.exposeString('output'),
      exitCode: t.exposeInt('exitCode'),
      truncated: t.exposeBoolean('truncated'),
    }),
  });
  builder.mutationFields((t) => ({
    execConsole: t.field({
      ...exec,
      type: result,
      description:
        'open_app_console. Runs a line of the shell beside the app, for 60 s at most (exit code 124); ' +
        'keeps 64 KiB of output.',
      args: {
        appId: t.arg.id({ required: true }),
        command: t.arg.string({ required: true }),
        container: t.arg.string(),
      },
      resolve: (_root, { appId, command, container }, context) => {
        const { id } = requireApp(context, appId, 'open_app_console');
        const target = { kind: 'app', id } as const;
        return run(context, { target, container: container ?? '', line: command });
      },
    }),
    execDatabaseConsole: t.field({
      ...exec,
      type: result,
      description:
        'open_database_console. Runs a statement in the client of the database, as execConsole does.',
      args: {
        databaseId: t.arg.id({ required: true }),
        command: t.arg.string({ required: true }),
      },
      resolve: (_root, { databaseId, command }, context) => {
        const { id } = requireDatabase(context, databaseId, 'open_database_console');
        const target = { kind: 'database', id } as const;
        return run(context, { target, container: '', line: command });
      },
    }),
  }));
}

async function run(
  context: GraphContext,
  wanted: Omit<WantedCommand, 'userId'>,
): Promise<CommandOutcome> {
  const { userId } = requireSignedIn(context);
  const { commands, actors } = writeSide(context);
  if (!commands) throw new Error('Cannot run a command: nothing runs them here');
  // It changes nothing, but that it was asked for is recorded before it can do anything.
  await actors.ask(activityLog, { type: 'note' });
  return await commands.run({ userId, ...wanted }, context.signal);
}
