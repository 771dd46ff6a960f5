/**
 * Owns a query worker: its own reader, schema and documents, and the answers to its batches, until its port
 * closes.
 */
import { setPriority } from 'node:os';
import { createAccountReads } from '../../auth/callers/account-reads.ts';
import type { Principal } from '../../auth/callers/principal.ts';
import type { GraphContext, GraphqlLimits, GraphqlSettings } from '../../graphql/context.ts';
import { Executor } from '../../graphql/execution/executor.ts';
import { type Answer, startOfAnswer, type Variables } from '../../graphql/execution/operation.ts';
import { readSide } from '../../graphql/read-side.ts';
import { schema } from '../../graphql/schema/schema.ts';
import { LogFiles } from '../../logs/files/reader.ts';
import { openMetricsReader } from '../../metrics/metrics-files.ts';
import { openReader, type ReaderOptions } from '../../store/store.ts';
import {
  answerKinds,
  type QueryBatch,
  type QueryBatchReply,
  type QueryCall,
  type QueryFault,
  type QueryWorkerStart,
} from '../query-messages.ts';

/** What the composition root gives each worker. */
export interface QuerySetup {
  reader: ReaderOptions;
  /** The logs' folder in the data directory. */
  logsDir: string;
  /** The folder of metrics in the data directory. */
  metricsDir: string;
  settings: GraphqlSettings;
  limits: GraphqlLimits;
}

// A `nice` value: the thread gets a third of the processor where threads compete, and all of it where they
// do not.
const yieldingPriority = 5;

const memoryStep = 32 * 1024;

export async function serveQueries({
  port,
  setup,
  yields,
}: QueryWorkerStart<QuerySetup>): Promise<void> {
  // Only on Linux does the priority apply to the calling thread alone.
  if (yields && process.platform === 'linux') setPriority(yieldingPriority);
  const reader = openReader(setup.reader);
  const parts = {
    reader,
    logs: new LogFiles(setup.logsDir),
    metrics: openMetricsReader(setup.metricsDir),
    accounts: createAccountReads(reader),
  };
  const read = readSide(parts, setup.settings);
  let faults: QueryBatchReply['faults'] = [];
  const note = (event: QueryFault['event'], cause: unknown, path: string): void => {
    const told = cause instanceof Error ? (cause.stack ?? '') : String(cause);
    faults.push({ event, path, cause: told });
  };
  const executor = new Executor({
    schema,
    limits: setup.limits,
    onInternal: (cause, path) => note('graphql_internal_error', cause, path),
    onFault: (cause) => note('graphql_compiled_fault', cause, ''),
  });
  port.on('message', (batch: QueryBatch) => {
    const tookUs = new Uint32Array(batch.calls.length);
    const answers = batch.calls.map((call, i) => {
      const startMs = performance.now();
      const answered = answer(executor, read, call);
      tookUs[i] = (performance.now() - startMs) * 1_000;
      return answered;
    });
    const reply = pack(batch, answers, tookUs, faults);
    faults = [];
    port.postMessage(reply, [reply.bytes.buffer]);
  });
  await new Promise<void>((resolve) => {
    port.on('close', resolve);
  });
  await reader.close();
}

function answer(executor: Executor, read: GraphContext['read'], call: QueryCall): Answer {
  const context: GraphContext = {
    read,
    write: null,
    // The gateway resolved the principal, and nobody else can post messages.
    principal: call.principal as Principal,
    via: call.via === 'mcp' ? 'mcp' : 'http',
    call: { http: null, signal: null },
  };
  const variables = call.variables as Variables;
  const { query, operationName } = call;
  const answered = executor.answer(query, operationName ?? undefined, variables, context);
  // Resolvers of queries are synchronous: a promise would be a change, sent to the wrong thread.
  if (answered instanceof Promise) throw new Error('A query worker was sent what is no query.');
  return startOfAnswer(answered, call.charsMax);
}

function pack(
  { seq, spare }: QueryBatch,
  answers: readonly Answer[],
  tookUs: Uint32Array,
  faults: QueryBatchReply['faults'],
): QueryBatchReply {
  const sizes = answers.map(({ json }) => Buffer.byteLength(json));
  const size = sizes.reduce((sum, one) => sum + one, 0);
  const isRoomy = spare !== null && spare.byteLength >= size;
  const bytes = Buffer.from(isRoomy ? spare : newMemory(size));
  const kinds = new Uint8Array(answers.length);
  const ends = new Uint32Array(answers.length);
  let at = 0;
  for (const [i, { kind, json }] of answers.entries()) {
    at += bytes.write(json, at);
    kinds[i] = answerKinds.indexOf(kind);
    ends[i] = at;
  }
  return { seq, kinds, ends, tookUs, bytes, faults };
}

/** Somewhat more than needed, so that later answers of about this size find room as well. */
function newMemory(size: number): ArrayBuffer {
  return new ArrayBuffer(Math.ceil(size / memoryStep) * memoryStep);
}
