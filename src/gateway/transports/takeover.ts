/**
 * Owns what the installer of a takeover asks and reports, with the bootstrap token of the server.
 *
 * 1. The token is looked at before the body: 401 for one that is unknown, expired, for no takeover, or has read a
 *    final state. Failures count for an address like those of API tokens.
 * 2. A report is answered once it is durable. 400 for an unknown state, 409 ILLEGAL_STEP for one that does not follow.
 */
import { takenOver } from '../../actors/server/bootstrap.ts';
import {
  type ServersProtocol,
  serversActor,
  type ServerTakeover,
} from '../../actors/server/protocol.ts';
import { reportedStates } from '../../actors/server/takeover.ts';
import { ServiceError } from '../../lib/errors.ts';
import { shownText } from '../../lib/names.ts';
import { bootstrapTokenHash } from '../../protocol/bootstrap-token.ts';
import type { Exchange, Route } from '../transport.ts';
import type { AgentBootstrapOptions } from './agent-bootstrap.ts';
import { jsonObject } from './json-object.ts';

export type TakeoverOptions = Pick<
  AgentBootstrapOptions,
  'reader' | 'actors' | 'callers' | 'clock'
>;

type Report = Omit<ServersProtocol['takeover-report']['in'], 'tokenHash'>;

const path = '/api/takeover';
const bodyMaxBytes = 16 * 1024;
const reasonMax = 1000;

export function takeoverRoutes(options: TakeoverOptions): Route[] {
  const servers = serversActor.at('all');
  return [
    {
      method: 'GET',
      path,
      handle: async (exchange) => {
        const tokenHash = admit(options, exchange);
        answer(exchange, await options.actors.ask(servers, { type: 'takeover-read', tokenHash }));
      },
    },
    {
      method: 'POST',
      path,
      audit: 'takeover',
      handle: async (exchange) => {
        const tokenHash = admit(options, exchange);
        const report = reportIn(await exchange.body(bodyMaxBytes));
        const message = { type: 'takeover-report', tokenHash, ...report } as const;
        answer(exchange, await options.actors.ask(servers, message));
      },
    },
  ];
}

/** The hash of a token that is good for this. */
function admit({ reader, callers, clock }: TakeoverOptions, exchange: Exchange): string {
  return callers.byBearer(exchange, (token) => {
    const hash = bootstrapTokenHash(token);
    takenOver(reader, hash, clock.now());
    return hash;
  });
}

function reportIn(body: Buffer): Report {
  const { state, reason } = jsonObject(body);
  const known = reportedStates.find((one) => one === state);
  if (known === undefined) {
    throw new ServiceError('BAD_REQUEST', `state: one of ${reportedStates.join(', ')} is needed.`);
  }
  if (reason != null && typeof reason !== 'string') {
    throw new ServiceError('BAD_REQUEST', 'reason: a text is needed, or none.');
  }
  const shown = shownText(reason ?? '', reasonMax);
  return { state: known, reason: shown === '' ? null : shown };
}

function answer(exchange: Exchange, { state, serverId, updatedAtMs }: ServerTakeover): void {
  const updatedAt = new Date(updatedAtMs).toISOString();
  exchange.json(200, { state, serverId, updatedAt }, { 'Cache-Control': 'no-store' });
}
