/**
 * Owns what is dumped of Redis: its RDB, as a replica is sent it.
 *
 * A server that sends it as it makes it closes it with a mark of 40 hexadecimal digits, which the client
 * leaves in its output. It is told apart for certain: the ninth byte from the end of an RDB is 0xff.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { PipeSpec } from '../../protocol/workload.ts';
import { clientOf, outputOf } from '../client-program.ts';
import type { DatabaseTarget } from '../targets.ts';
import type { Source } from './source.ts';

const markBytes = 40;
/** Behind the last operation of an RDB there is its checksum. */
const endBytes = 9;
const endOperation = 0xff;
const hexDigits = /^[0-9a-f]{40}$/;

export async function redisSource(target: DatabaseTarget): Promise<Source> {
  const spec = await redisClient(target, ['--rdb', '-']);
  return {
    kind: 'redis',
    ending: 'rdb',
    read: (signal) => withoutMark(outputOf(target, spec, signal)),
  };
}

export async function redisClient(
  target: DatabaseTarget,
  args: readonly string[],
): Promise<PipeSpec> {
  const program = await clientOf(target, ['redis-cli']);
  const { socket, ownPort, password } = target;
  const at = socket === null ? ['-h', '127.0.0.1', '-p', String(ownPort)] : ['-s', socket];
  return { command: [program, ...at, ...args], env: { REDISCLI_AUTH: password } };
}

/** The RDB alone. Throws DUMP_FAILED when it is none, or not whole. */
export async function* withoutMark(output: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Buffer = Buffer.alloc(0);
  let isFirst = true;
  for await (const bytes of output) {
    held = Buffer.concat([held, bytes]);
    if (held.length <= markBytes + endBytes) continue;
    if (isFirst && !isRdb(held)) throw notWhole();
    isFirst = false;
    const ready = held.length - markBytes - endBytes;
    yield held.subarray(0, ready);
    held = Buffer.from(held.subarray(ready));
  }
  const isMarked = hexDigits.test(held.subarray(-markBytes).toString('latin1'));
  const rest = isMarked ? held.subarray(0, -markBytes) : held;
  if ((isFirst && !isRdb(rest)) || rest.at(-endBytes) !== endOperation) throw notWhole();
  yield rest;
}

export function isRdb(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 5)).toString('latin1') === 'REDIS';
}

function notWhole(): ServiceError {
  return new ServiceError('DUMP_FAILED', 'What Redis sent is no whole RDB.');
}
