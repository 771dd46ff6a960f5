/** MCP behind a real socket, with the tools of the conformance suite in place of the product's. */
import { createAuthenticator } from '../../src/auth/callers/authenticator.ts';
import { Callers } from '../../src/gateway/credentials.ts';
import { McpStreams } from '../../src/gateway/transports/mcp-streams.ts';
import {
  mcpRoutes,
  type McpRoutesOptions,
  resourceMetadataUrl,
} from '../../src/gateway/transports/mcp.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { RateLimit } from '../../src/lib/rate-limit.ts';
import type { Tool } from '../../src/mcp/tool.ts';
import type { CallRedaction, GraphqlDoor } from '../../src/mcp/graphql-call.ts';
import { Rights } from '../../src/mcp/rights.ts';
import { McpServer } from '../../src/mcp/server.ts';
import { AccountsFixture } from './accounts-fixture.ts';
import { startGateway } from './gateway.ts';
import { fixtureTools } from './mcp-fixture-tools.ts';

export interface McpGatewayOptions extends Pick<McpRoutesOptions, 'bodyMax'> {
  tools?: readonly Tool[];
  publicUrl?: string;
  callsPerMinute?: number;
  callsAtOnce?: number;
  listenersMax?: number;
}

export interface McpGateway {
  /** Origin of the gateway. */
  url: string;
  /** Of `usr_ann` in `team_a`, with all its owner may do. */
  token: string;
  accounts: AccountsFixture;
  streams: McpStreams;
  close(): Promise<void>;
}

export async function startMcpGateway(options: McpGatewayOptions = {}): Promise<McpGateway> {
  const accounts = new AccountsFixture();
  const { store, log: logger } = accounts;
  accounts.addUser('usr_ann');
  accounts.addTeam('team_a', 'usr_ann');
  const token = accounts.addToken('tok_1', 'usr_ann', 'team_a', { allTeams: true }).secret;
  const subscribe = store.subscribe.bind(store);
  const clock = { now: () => accounts.clock.now(), after: systemClock.after.bind(systemClock) };
  const authenticator = createAuthenticator({
    reader: store,
    subscribe,
    actors: accounts.runtime,
    clock,
    log: logger,
    secret: 'secret-of-a-test',
  });
  const { publicUrl = 'http://127.0.0.1:3000', listenersMax, bodyMax } = options;
  const rights = new Rights({ reader: store, subscribe });
  const server = new McpServer({
    info: { name: 'Gangway', version: '0.0.0' },
    tools: options.tools ?? fixtureTools,
    rights,
    door: noGraphql,
    position: () => store.position,
    redaction: noRedaction,
    resourceMetadata: () => resourceMetadataUrl(publicUrl),
    logger,
    callsAtOnce: options.callsAtOnce ?? 64,
  });
  const streams = new McpStreams({
    clock,
    logger,
    ...(listenersMax !== undefined && { openMax: listenersMax }),
  });
  const gateway = await startGateway(
    mcpRoutes({
      server: () => server,
      rights,
      callers: new Callers({
        authenticator,
        publicUrl: () => ({ url: publicUrl, configured: true }),
      }),
      authenticator,
      rate: new RateLimit({ burst: options.callsPerMinute ?? 100_000, windowMs: 60_000 }),
      streams,
      publicUrl: () => publicUrl,
      logger,
      ...(bodyMax !== undefined && { bodyMax }),
    }),
  );
  return {
    url: gateway.url,
    token,
    accounts,
    streams,
    async close() {
      streams.drain();
      await gateway.close();
      rights.close();
      authenticator.close();
      await accounts.close();
    },
  };
}

const unasked = (): never => {
  throw new Error('No tool of the suite asks GraphQL.');
};

const noGraphql: GraphqlDoor = { execute: unasked, subscribe: unasked, prepare: unasked };

const noRedaction: CallRedaction = { redact: (text) => text, open: () => null };
