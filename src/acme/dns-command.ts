/**
 * Owns the operator's program that sets TXT records: `<program> set|unset <name> <value>`.
 *
 * 1. It is started without a shell, in a session of its own, with an environment of ours. It has to end within a time, or
 *    all that it started there is ended; so with the signal.
 * 2. Where we are root it runs as the owner of its file, or as `nobody` where root owns it.
 * 3. What it writes is read up to a bound, for the text of a failure.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { plain } from './failures.ts';

export class DnsCommandFailed extends Error {
  override name = 'DnsCommandFailed';

  constructor(what: string, why: string) {
    super(`The program that sets DNS records failed to ${what}: ${plain(why)}`);
  }
}

export interface DnsCommandOptions {
  /** Absolute path. */
  program: string;
  /** Default two minutes. */
  timeoutMs?: number;
}

const timeoutMsDefault = 120_000;
const outputMaxBytes = 4096;
/** How long what it wrote is waited for behind its end. */
const lingerMs = 1000;
const nobody = 65_534;

export class DnsCommand {
  readonly #options: DnsCommandOptions;

  constructor(options: DnsCommandOptions) {
    this.#options = options;
  }

  /** Resolves when the record can be seen. Rejects with DnsCommandFailed, or the reason of the signal. */
  async set(name: string, value: string, signal: AbortSignal): Promise<void> {
    await this.#run('set', name, value, signal);
  }

  async unset(name: string, value: string, signal: AbortSignal): Promise<void> {
    await this.#run('unset', name, value, signal);
  }

  async #run(
    verb: 'set' | 'unset',
    name: string,
    value: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { program, timeoutMs = timeoutMsDefault } = this.#options;
    const what = `${verb} ${name}`;
    const late = AbortSignal.timeout(timeoutMs);
    const owner = await ownerOf(program).catch((error: unknown) => {
      throw new DnsCommandFailed(what, (error as Error).message);
    });
    signal.throwIfAborted();
    const child = spawn(program, [verb, name, value], {
      ...owner,
      cwd: '/',
      env: {
        PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        LANG: 'C.UTF-8',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const failure = await ended(child, AbortSignal.any([signal, late]));
    signal.throwIfAborted();
    if (late.aborted) throw new DnsCommandFailed(what, 'It took too long.');
    if (failure !== null) throw new DnsCommandFailed(what, failure);
  }
}

async function ownerOf(program: string): Promise<{ uid?: number; gid?: number }> {
  const { uid, gid } = await stat(program);
  if (process.getuid?.() !== 0) return {};
  return uid === 0 ? { uid: nobody, gid: nobody } : { uid, gid };
}

/** Null when it ended well, else how it did not. */
function ended(child: ChildProcess, stop: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    let output = '';
    let lingering: NodeJS.Timeout | undefined;
    const hear = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(0, outputMaxBytes);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    const kill = (): void => endSession(child);
    stop.addEventListener('abort', kill, { once: true });
    if (stop.aborted) kill();
    child.once('error', (error) => resolve(error.message));
    child.once('exit', () => {
      endSession(child);
      // What has left the session may hold the output for ever.
      lingering = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, lingerMs);
    });
    child.once('close', (code, signal) => {
      clearTimeout(lingering);
      stop.removeEventListener('abort', kill);
      resolve(code === 0 ? null : output || `It ended with ${String(code ?? signal)}.`);
    });
  });
}

function endSession({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}
