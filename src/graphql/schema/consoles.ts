/** Owns single commands in the schema; an open console is a transport of its own. */
import type { CommandOutcome, WantedCommand } from '../../consoles/commands.ts';
import { activityLog } from '../../actors/activity/protocol.ts';
import { requireDatabase, requireSignedIn, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { builder, exec } from './builder.ts';
import { appByAppId, needs } from './needs.ts';

const ExecResultType = builder.objectRef<CommandOutcome>('ExecResult').implement({
  fields: (t) => ({
    output: t.exposeString('output'),
    exitCode: t.exposeInt('exitCode'),
    truncated: t.exposeBoolean('truncated'),
  }),
});

builder.mutationFields((t) => ({
  execConsole: t.field({
    ...exec,
    type: ExecResultType,
    ...needs('open_app_console', appByAppId, {
      description:
        'Runs a line of the shell beside the app, for 60 s at most (exit code 124); ' +
        'keeps 64 KiB of output.',
      args: { command: t.arg.string({ required: true }), container: t.arg.string() },
      resolve: ({ id }, { command, container }, context) =>
        run(context, { target: { kind: 'app', id }, container: container ?? '', line: command }),
    }),
  }),
  execDatabaseConsole: t.field({
    ...exec,
    type: ExecResultType,
    ...needs(
      'open_database_console',
      {
        args: { databaseId: t.arg.id({ required: true }) },
        find: (context, need, given) => requireDatabase(context, given.databaseId, need),
      },
      {
        description: 'Runs a statement in the client of the database, as execConsole does.',
        args: { command: t.arg.string({ required: true }) },
        resolve: ({ id }, { command }, context) =>
          run(context, { target: { kind: 'database', id }, container: '', line: command }),
      },
    ),
  }),
}));

async function run(
  context: GraphContext,
  wanted: Omit<WantedCommand, 'userId'>,
): Promise<CommandOutcome> {
  const { userId } = requireSignedIn(context);
  const { commands, actors } = writeSide(context);
  if (!commands) throw new Error('Cannot run a command: nothing runs them here');
  // It changes nothing, but that it was asked for is recorded before it can do anything.
  await actors.ask(activityLog, { type: 'note' });
  return await commands.run({ userId, ...wanted }, context.call.signal);
}
