/**
 * Owns how a new agent comes: with a bootstrap token and a request for a certificate, once.
 *
 * 1. The token is looked at before the body: 401 for one that is unknown, expired or used. Failures count for an
 *    address like those of API tokens.
 * 2. Then 413, 400 for an unusable request, 409 for an agent of an unfit release. None of them uses the token up.
 * 3. The certificate is sent once it is durable that it is good, and that the token is not any more.
 */
import { bootstrapped } from '../../actors/server/bootstrap.ts';
import { serversActor } from '../../actors/server/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { shownText } from '../../lib/names.ts';
import {
  type BootstrapAnswer,
  bootstrapPath,
  type BootstrapRequest,
} from '../../protocol/agent-bootstrap.ts';
import { isRelease, misfitOf } from '../../protocol/agent-version.ts';
import { bootstrapTokenHash } from '../../protocol/bootstrap-token.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { Callers } from '../credentials.ts';
import type { Exchange, Route } from '../transport.ts';
import { jsonObject } from './json-object.ts';

export interface AgentBootstrapOptions {
  reader: Pick<Reader, 'find'>;
  actors: Pick<Actors, 'ask'>;
  callers: Pick<Callers, 'byBearer'>;
  clock: Pick<Clock, 'now'>;
  /** Ours. */
  version: string;
  /** Where agents reach the agents' port. */
  control: () => { host: string; port: number };
}

const bodyMaxBytes = 16 * 1024;
const nameMax = 255;

export function agentBootstrapRoutes(options: AgentBootstrapOptions): Route[] {
  return [
    {
      method: 'POST',
      path: bootstrapPath,
      audit: 'agent_bootstrap',
      handle: (exchange) => bootstrap(options, exchange),
    },
  ];
}

async function bootstrap(options: AgentBootstrapOptions, exchange: Exchange): Promise<void> {
  const { reader, actors, callers, clock } = options;
  const tokenHash = callers.byBearer(exchange, (token) => {
    const hash = bootstrapTokenHash(token);
    bootstrapped(reader, hash, clock.now());
    return hash;
  });
  const asked = requestIn(await exchange.body(bodyMaxBytes));
  const misfit = misfitOf(options.version, asked.version);
  if (misfit !== null) throw new ServiceError('VERSION_MISMATCH', misfit);
  const { csr, name } = asked;
  const issued = await actors.ask(serversActor.at('all'), {
    type: 'bootstrap',
    tokenHash,
    csr,
    name,
  });
  const answer: BootstrapAnswer = { ...issued, control: options.control() };
  exchange.json(200, answer, { 'Cache-Control': 'no-store' });
}

function requestIn(body: Buffer): BootstrapRequest {
  const { csr, name, version } = jsonObject(body);
  if (typeof csr !== 'string') throw unusable('csr: a request for a certificate in PEM is needed.');
  if (typeof name !== 'string' || name === '' || shownText(name, nameMax) !== name) {
    throw unusable(
      `name: the host name of the machine is needed, of 1 to ${String(nameMax)} characters.`,
    );
  }
  if (typeof version !== 'string' || !isRelease(version)) {
    throw unusable('version: the release of the agent is needed, such as "1.2.3".');
  }
  return { csr, name, version };
}

function unusable(detail: string): ServiceError {
  return new ServiceError('BAD_REQUEST', detail);
}
