/** Owns how a new server fetches the agent: one file, the same for everybody, without a secret. */
import type { Exchange, Route } from '../transport.ts';

const headers = {
  'Content-Type': 'text/javascript; charset=utf-8',
  'Cache-Control': 'no-cache',
};

/** `program`: rejects when it cannot be made. */
export function agentProgramRoute(program: () => Promise<Uint8Array>): Route {
  return {
    method: 'GET',
    path: '/api/agent/program',
    handle: async (exchange: Exchange) => exchange.send(200, headers, await program()),
  };
}
