#!/usr/bin/env node
/** Owns the command line: it picks the command, and reports a failure in one clear line. */
import { checkNode } from './node-version.mjs';

checkNode();

const usage = `Usage: gangway <command>

  serve              serves until it is told to stop
  snapshot <dir>     copies the data directory into a new folder, also while it is served
    --with-key       with the instance key: whoever has both can read every secret
  restore <dir>      puts a snapshot in the place of an empty data directory
  restore <artifact> --identity <file>
                     the same with a backup of the instance and its recovery key; - is standard input
  reset-password <email>
                     prints a link that sets a new password, once and within an hour
    --disable-two-factor   which turns two-factor off, too
  agent --data-dir <dir> --control <url> --token-file <file>
                     lets this machine run apps of a Gangway elsewhere; agent --help tells more
  --version          prints the version

Configuration: config/default.json, the file named in GANGWAY_CONFIG, GANGWAY_* variables.
`;

async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'serve':
      if (rest.length > 0) return misused();
      return await serve();
    case 'snapshot':
    case 'restore': {
      const { copyCommand } = await import('./commands/snapshots.ts');
      return (await copyCommand(command, rest)) ? 0 : misused();
    }
    case 'reset-password': {
      const { resetPasswordCommand } = await import('./commands/reset-password.ts');
      return (await resetPasswordCommand(rest)) ? 0 : misused();
    }
    case 'agent': {
      const { agentCommand } = await import('./programs/agent/command.ts');
      return await agentCommand(rest);
    }
    case '--version': {
      const { default: manifest } = await import('../package.json', { with: { type: 'json' } });
      process.stdout.write(`${manifest.version}\n`);
      return 0;
    }
    default:
      return misused();
  }
}

async function serve(): Promise<number> {
  const [{ resolveConfig }, { serve: start }] = await Promise.all([
    import('./config.ts'),
    import('./service/serve.ts'),
  ]);
  await start(resolveConfig());
  return 0;
}

function misused(): number {
  process.stderr.write(usage);
  return 2;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  // A refusal is for people: it prints a sentence. Any other error is a bug and keeps its stack.
  const expected = error instanceof Error && /^(Config|Store|Listen)/.test(error.name);
  const text = expected ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`gangway: ${text ?? 'failed'}\n`);
  process.exit(1);
}
