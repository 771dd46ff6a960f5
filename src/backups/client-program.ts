/**
 * Owns running the clients of an engine beside its server.
 *
 * 1. No password is an argument of a program; it goes by the environment, which other users cannot read.
 * 2. What a client says of its failure is told without passwords, on one line.
 */
import type { PipeEnd, PipeSpec } from '../protocol/workload.ts';
import { type ErrorCode, ServiceError } from '../lib/errors.ts';
import type { DatabaseTarget } from './targets.ts';

const textMax = 300;
const hidden = '••••••••';
/** Of a shell, and of containers, for a program that is not there or cannot be run. */
const missingCodes: ReadonlySet<number> = new Set([126, 127]);
const noClient = 'The client of its engine could not be run where its server is.';

/** What the program writes. Throws a ServiceError when it fails, also at its end. */
export async function* outputOf(
  target: DatabaseTarget,
  spec: PipeSpec,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { output, ended } = await target.pipe(spec, null, signal);
  yield* output;
  mustSucceed(target, 'DUMP_FAILED', spec, await ended);
}

/** Runs a program with this input; resolves with what it writes, `maxBytes` at most. */
export async function feed(
  target: DatabaseTarget,
  spec: PipeSpec,
  input: AsyncIterable<Uint8Array> | null,
  signal: AbortSignal,
  maxBytes = 64 * 1024,
): Promise<Buffer> {
  const { output, ended } = await target.pipe(spec, input, signal);
  const chunks: Uint8Array[] = [];
  let room = maxBytes;
  for await (const bytes of output) {
    if (room > 0) chunks.push(bytes.subarray(0, room));
    room -= Math.min(room, bytes.length);
  }
  mustSucceed(target, 'RESTORE_FAILED', spec, await ended);
  return Buffer.concat(chunks);
}

function mustSucceed(
  target: DatabaseTarget,
  code: ErrorCode,
  { command: [program = ''] }: PipeSpec,
  { exitCode, complaint }: PipeEnd,
): void {
  if (exitCode === 0) return;
  const name = program.slice(program.lastIndexOf('/') + 1);
  if (missingCodes.has(exitCode)) {
    throw new ServiceError('ENGINE_NOT_AVAILABLE', `${noClient} ${sayable(target, complaint)}`);
  }
  const said = sayable(target, complaint);
  const words = said === '' ? `It ended with code ${String(exitCode)}.` : `It said: ${said}`;
  throw new ServiceError(code, `The program ${name} failed. ${words}`);
}

/** The last line with text, without the passwords of the database. */
export function sayable({ password, adminPassword }: DatabaseTarget, text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  const last = lines.findLast((line) => line !== '') ?? '';
  return [password, adminPassword]
    .filter((secret) => secret !== '')
    .reduce((so, secret) => so.replaceAll(secret, hidden), last)
    .slice(0, textMax);
}

/** The program by one of these names, where the server runs. Throws ENGINE_NOT_AVAILABLE. */
export async function clientOf(
  { tools }: DatabaseTarget,
  names: readonly [string, ...string[]],
): Promise<string> {
  if (tools === null) return names[0];
  const found = await tools.find(names);
  if (found !== null) return found;
  throw new ServiceError('ENGINE_NOT_AVAILABLE', `This server has no program ${names[0]}.`);
}
