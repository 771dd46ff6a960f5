/** Owns the scripts that a new server fetches: text without a secret, the same for everybody. */
import type { Exchange, Route } from '../transport.ts';

/** By the name that they are fetched by. */
export type AgentScripts = Readonly<Record<'install.sh' | 'takeover.sh', Uint8Array>>;

const headers = {
  'Content-Type': 'text/x-shellscript; charset=utf-8',
  'Cache-Control': 'no-cache',
};

export function agentScriptRoutes(scripts: AgentScripts): Route[] {
  return Object.entries(scripts).map(([name, body]) => ({
    method: 'GET',
    path: `/api/agent/${name}`,
    constant: { headers, body },
    handle: (exchange: Exchange) => exchange.send(200, headers, body),
  }));
}
