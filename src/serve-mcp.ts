/** Owns how the MCP endpoint is put together in a serving Gangway. */
import manifest from '../package.json' with { type: 'json' };
import type { ClosableAuthenticator } from './auth/authenticator.ts';
import type { Config } from './config.ts';
import type { Route } from './gateway/contract.ts';
import type { Callers } from './gateway/credentials.ts';
import { mcpRoutes, resourceMetadataUrl } from './gateway/transports/mcp.ts';
import { McpStreams } from './gateway/transports/mcp-streams.ts';
import type { Graphql } from './graphql/graphql.ts';
import { systemClock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import { RateLimit } from './lib/rate-limit.ts';
import { Rights } from './mcp/rights.ts';
import type { McpServer } from './mcp/server.ts';
import type { Platform } from './platform.ts';

export interface ServeMcpOptions {
  config: Config;
  platform: Pick<Platform, 'store'>;
  authenticator: Pick<ClosableAuthenticator, 'stillValid'>;
  callers: Callers;
  graphql: Graphql;
  logger: Logger;
  publicUrl: () => string;
}

export interface ServedMcp {
  routes: Route[];
  /** Open event streams. */
  readonly size: number;
  drain(): void;
  close(): void;
}

// Tokens counted at once; beyond that the one unused for longest begins anew.
const countedTokensMax = 100_000;

export function serveMcp(options: ServeMcpOptions): ServedMcp {
  const { config, platform, authenticator, callers, logger, publicUrl } = options;
  const { store } = platform;
  const rights = new Rights({ reader: store, subscribe: (listener) => store.subscribe(listener) });
  const streams = new McpStreams({ clock: systemClock, logger });
  let server: McpServer | Promise<McpServer> | null = null;
  const load = (): McpServer | Promise<McpServer> => {
    server ??= loadServer(options, rights).then(
      (loaded) => (server = loaded),
      (error: unknown) => {
        server = null;
        throw error;
      },
    );
    return server;
  };
  const routes = mcpRoutes({
    server: load,
    rights,
    callers,
    authenticator,
    rate: new RateLimit({
      burst: config.mcpCallsPerMinute,
      windowMs: 60_000,
      keysMax: countedTokensMax,
    }),
    streams,
    publicUrl,
    logger,
  });
  return {
    routes,
    get size() {
      return streams.size;
    },
    drain: () => {
      if (server !== null && !(server instanceof Promise)) server.drain();
      streams.drain();
    },
    close: () => {
      rights.close();
    },
  };
}

/** Loads what is heavy: zod, and the GraphQL schema that tools are described by. */
async function loadServer(options: ServeMcpOptions, rights: Rights): Promise<McpServer> {
  const { config, graphql, platform, logger, publicUrl } = options;
  const [{ McpServer }, { createTools }, lanes] = await Promise.all([
    import('./mcp/server.ts'),
    import('./mcp/tools/tools.ts'),
    graphql.load(),
  ]);
  return new McpServer({
    info: { name: 'gangway', version: manifest.version },
    tools: createTools(lanes.engine.schema, rights),
    rights,
    door: graphql,
    position: () => platform.store.position,
    redact: (text) => text,
    resourceMetadata: () => resourceMetadataUrl(publicUrl()),
    logger,
    callsAtOnce: config.mcpCallsAtOnce,
  });
}
