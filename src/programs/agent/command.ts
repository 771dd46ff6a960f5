/** Owns the command line of the agent: its options, its signals and how it ends. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import manifest from '../../../package.json' with { type: 'json' };
import { lineLogger } from '../../lib/line-logger.ts';
import { shownText } from '../../lib/names.ts';
import { AgentEnd, type AgentOptions, runAgent } from './agent.ts';

const agentUsage = `Usage: gangway agent --data-dir <folder> [options]

Connects this machine to a Gangway that dials nobody: apps and databases of it run here.

  --data-dir <folder>     where it keeps who it is, and what runs; absolute
  --control <url>         address of the panel; needed for the first start
  --token-file <file>     holds the bootstrap token; - is standard input; needed for the first start, used once
  --edge-host <address>   where visitors of apps come in (0.0.0.0)
  --edge-port <port>      the same, by HTTP (3080)
  --edge-tls-port <port>  the same, by HTTPS; there is none unless it is given
  --version               prints the version

It ends with 0 when it is told to, with 3 when it needs another bootstrap token, and with 1 when it cannot start.
`;

const tokenMaxBytes = 4096;
const exit = { ended: 0, failed: 1, misused: 2, needsToken: 3 } as const;

/** Returns what the process is to end with. */
export async function agentCommand(args: readonly string[]): Promise<number> {
  const end = new AbortController();
  if (args.includes('--help')) {
    process.stdout.write(agentUsage);
    return exit.ended;
  }
  let options: AgentOptions | null;
  try {
    options = await optionsIn(args, end.signal);
  } catch (error) {
    process.stderr.write(`gangway agent: ${(error as Error).message}\n\n${agentUsage}`);
    return exit.misused;
  }
  if (options === null) {
    process.stdout.write(`${manifest.version}\n`);
    return exit.ended;
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      options.logger.info({ signal }, 'agent_ending');
      end.abort();
    });
  }
  // Its timers hold nothing; it lives until it is told to end.
  const held = setInterval(() => undefined, 60_000);
  try {
    await runAgent(options);
    return exit.ended;
  } catch (error) {
    if (!(error instanceof AgentEnd)) throw error;
    process.stderr.write(`gangway agent: ${error.message}\n`);
    return error.needsToken ? exit.needsToken : exit.failed;
  } finally {
    clearInterval(held);
  }
}

/** Null: it is asked for its version. Throws what to tell. */
async function optionsIn(
  args: readonly string[],
  signal: AbortSignal,
): Promise<AgentOptions | null> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ 'data-dir': text, control: text, 'token-file': text, 'edge-host': text },
      ...{ 'edge-port': text, 'edge-tls-port': text, version: { type: 'boolean' } },
    },
  });
  if (values.version === true) return null;
  const dataDir = values['data-dir'];
  if (dataDir === undefined || !path.isAbsolute(dataDir)) {
    throw new Error('--data-dir has to be an absolute folder.');
  }
  const tlsPort = values['edge-tls-port'];
  const tokenFile = values['token-file'];
  return {
    dataDir,
    controlUrl: values.control === undefined ? null : panelUrl(values.control),
    token: tokenFile === undefined ? null : await tokenIn(tokenFile),
    name: shownText(os.hostname(), 255) || 'server',
    version: manifest.version,
    edge: {
      host: values['edge-host'] ?? '0.0.0.0',
      port: portIn('--edge-port', values['edge-port'] ?? '3080'),
      ...(tlsPort !== undefined && { tlsPort: portIn('--edge-tls-port', tlsPort) }),
    },
    logger: lineLogger('agent'),
    signal,
  };
}

function panelUrl(given: string): string {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '') {
    throw new Error(
      '--control has to be the address of the panel, such as https://panel.example.com.',
    );
  }
  return url.href;
}

function portIn(option: string, given: string): number {
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw new Error(`${option} has to be a port, 1 to 65535; it is ${given}.`);
}

/** Null where the file is not there any more: the agent may have used it already. */
async function tokenIn(file: string): Promise<string | null> {
  let text: string;
  try {
    text = file === '-' ? await standardInput() : fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Error(`--token-file cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (text.length > tokenMaxBytes) throw new Error('--token-file holds no bootstrap token.');
  return text.trim() || null;
}

async function standardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > tokenMaxBytes || text.includes('\n')) break;
  }
  return text;
}
