/**
 * Owns the first words with a runner: whether it is one that we want, and what it is told of the edge.
 */
import path from 'node:path';

import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { IsolationLayer } from '../../protocol/isolation.ts';
import type { EdgeSettings, HelloAnswer } from '../../protocol/runner-messages.ts';
import { runnerProtocol, runnerStateDir } from '../../protocol/runner-version.ts';
import { ConnectionLost, type RunnerAsker } from './runner-way.ts';
import { prepareEdgeProgram } from './program.ts';

/** Asks for a sign of life: every runner knows this request. */
export function sign(connection: RunnerAsker): Promise<HelloAnswer> {
  return connection.request({ op: 'hello', protocol: runnerProtocol });
}

interface Agreed {
  without: readonly IsolationLayer[];
  edge: EdgeSettings | null;
  logger: Logger;
}

/**
 * Asks a runner to hand over that speaks otherwise than we do, or leaves out other layers of isolation than
 * `without`, or knows no port for HTTPS, or no way to the panel, where there is to be one; then it throws ConnectionLost.
 */
export async function agree(
  connection: RunnerAsker,
  { without, edge, logger }: Agreed,
): Promise<void> {
  const hello = await sign(connection);
  const { protocol } = hello;
  if (protocol !== runnerProtocol) {
    logger.warn({ protocol, ours: runnerProtocol }, 'runner_of_other_version');
  } else if (hello.without?.join() !== without.join()) {
    logger.warn({ without: hello.without ?? null, ours: without }, 'runner_of_other_isolation');
  } else if (edge?.tlsPort !== undefined && hello.tls !== true) {
    logger.warn({}, 'runner_without_https');
  } else if (edge?.leadsToPanel === true && hello.panel !== true) {
    logger.warn({}, 'runner_without_panel');
  } else return;
  await connection.request({ op: 'handover' });
  throw new ConnectionLost();
}

/**
 * Has the edge serve with the program of this version, also where the runner is an older one. An edge that cannot listen
 * must not keep apps from running. `setRoutes` reports it again.
 */
export async function configure(
  connection: RunnerAsker,
  { edge, dataDir, logger }: { edge: EdgeSettings | null; dataDir: string; logger: Logger },
): Promise<void> {
  const program = edge && prepareEdgeProgram(path.join(dataDir, runnerStateDir));
  try {
    await connection.request({
      op: 'configure',
      edge: edge && { ...edge, ...(program && { program: program.entry }) },
    });
    program?.keepOnly();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    logger.error({ detail: error.message }, 'edge_not_listening');
  }
}
