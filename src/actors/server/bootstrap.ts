/** Owns whether a bootstrap token is good, and what for. */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  AgentState,
  BootstrapToken,
  ServerRecord,
  Takeover,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

/** A server that somebody added. */
export type AgentServer = Readonly<ServerRecord> & { agent: AgentState };

type Tokened = AgentServer & { agent: { bootstrap: BootstrapToken } };

export const bootstrapTokenMs = 24 * 3_600_000;

const another = 'Ask the administrator for another one (reissueServerBootstrap).';

/** The server that a token is for, if it may still get its certificate. Throws UNAUTHENTICATED. */
export function bootstrapped(
  reader: Pick<Reader, 'find'>,
  tokenHash: string,
  nowMs: number,
): AgentServer {
  const server = tokened(reader, tokenHash, nowMs);
  if (server.agent.bootstrap.usedAtMs === null) return server;
  throw unfit(`A certificate was issued for this bootstrap token; it is good for one. ${another}`);
}

/** The server that a token is for, and its takeover, if that is not over for the token. Throws UNAUTHENTICATED. */
export function takenOver(
  reader: Pick<Reader, 'find'>,
  tokenHash: string,
  nowMs: number,
): { server: AgentServer; takeover: Takeover } {
  const server = tokened(reader, tokenHash, nowMs);
  const { takeover } = server.agent;
  if (takeover === null) throw unfit('This bootstrap token is not for a takeover.');
  if (takeover.isOver) throw unfit(`The takeover is over: ${takeover.state} was read.`);
  return { server, takeover };
}

function tokened(reader: Pick<Reader, 'find'>, tokenHash: string, nowMs: number): Tokened {
  const server = reader.find(tables.servers, 'bootstrap', [tokenHash]) as Tokened | undefined;
  if (server === undefined) throw unfit('This bootstrap token is not valid.');
  if (nowMs < server.agent.bootstrap.expiresAtMs) return server;
  throw unfit(`This bootstrap token has expired; it is good for 24 hours. ${another}`);
}

function unfit(detail: string): ServiceError {
  return new ServiceError('UNAUTHENTICATED', detail);
}
