/** Owns how the MCP endpoint is put together in a serving Gangway. */
import manifest from '../../package.json' with { type: 'json' };
import type { Route } from '../gateway/transport.ts';
import { mcpRoutes, resourceMetadataUrl } from '../gateway/transports/mcp.ts';
import { McpStreams } from '../gateway/transports/mcp-streams.ts';
import type { Graphql } from '../graphql/graphql.ts';
import { openGitSecrets } from '../actors/git/connection.ts';
import { valueOf } from '../actors/app/settings/variables.ts';
import { systemClock } from '../lib/clock.ts';
import { McpCounts } from '../mcp/counts.ts';
import type { ReadCounter } from '../mcp/reads.ts';
import { Rights } from '../mcp/rights.ts';
import type { Redactor } from '../mcp/redaction/redactor.ts';
import type { McpServer } from '../mcp/server.ts';
import type { MetricFamily } from '../gateway/metrics-text.ts';
import { OwnTally, type Tally } from '../lib/tally.ts';
import type { Core } from './core.ts';

export interface ServedMcp {
  routes: Route[];
  /** The number of open event streams. */
  readonly size: number;
  families(): MetricFamily[];
  drain(): void;
  close(): void;
}

// Tokens counted at once. Beyond that, the token that was unused for longest is counted from zero.
const countedTokensMax = 100_000;

interface Parts {
  rights: Rights;
  reads: ReadCounter;
  counts: McpCounts;
  underWay: Tally;
}

interface Loaded {
  server: McpServer;
  redactor: Redactor;
}

/** `underWay` counts tool calls and streams on all threads; default: those of this thread. */
export function serveMcp(
  core: Core,
  graphql: Graphql,
  reads: ReadCounter,
  underWay: Tally = new OwnTally(),
): ServedMcp {
  const { config, ground, authenticator, callers, logger, publicUrl, newLimit } = core;
  const { store } = ground;
  const rights = new Rights({ reader: store, subscribe: (listener) => store.subscribe(listener) });
  const streams = new McpStreams({ clock: systemClock, logger, held: underWay });
  const counts = new McpCounts();
  let loaded: Loaded | null = null;
  let loading: Promise<McpServer> | null = null;
  const load = async (): Promise<McpServer> => {
    try {
      loaded = await loadServer(core, graphql, { rights, reads, counts, underWay });
      return loaded.server;
    } finally {
      loading = null;
    }
  };
  const routes = mcpRoutes({
    server: () => loaded?.server ?? (loading ??= load()),
    rights,
    callers,
    authenticator,
    rate: newLimit('mcp-calls', {
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
      loaded?.server.drain();
      streams.drain();
    },
    families: () => counts.families(),
    close: () => {
      rights.close();
      loaded?.redactor.close();
    },
  };
}

/** Loads the heavy modules: zod, the GraphQL schema that describes the tools, and the redactor. */
async function loadServer(
  { config, ground, logger, publicUrl }: Core,
  graphql: Graphql,
  { rights, reads, counts, underWay }: Parts,
): Promise<Loaded> {
  const { store, secrets } = ground;
  const [{ McpServer }, { createTools }, { Redactor }, { openDatabase }, lanes] = await Promise.all(
    [
      import('../mcp/server.ts'),
      import('../mcp/tools/tools.ts'),
      import('../mcp/redaction/redactor.ts'),
      import('../mcp/redaction/database-secrets.ts'),
      graphql.load(),
    ],
  );
  const redactor = new Redactor({
    reader: store,
    subscribe: (listener) => store.subscribe(listener),
    open: (record) => valueOf(secrets, record),
    openDatabase: (record) => openDatabase(secrets, record),
    openConnection: (record) => openGitSecrets(secrets, record),
    log: logger,
  });
  const server = new McpServer({
    info: { name: 'gangway', version: manifest.version },
    tools: createTools(lanes.schema, rights),
    rights,
    door: graphql,
    position: () => store.newestPosition,
    redaction: {
      redact: (text, principal, appId) =>
        redactor.redact(text, principal.teamId, appId, (id) => rights.sees(principal, id)),
      open: (teamId, isForApp) => redactor.open(teamId, isForApp),
    },
    resourceMetadata: () => resourceMetadataUrl(publicUrl()),
    logger,
    callsAtOnce: config.mcpCallsAtOnce,
    underWay,
    onMessage: (method) => counts.request(method),
    onCall: ({ principal, tool, client, outcome }) => {
      counts.call(tool.name, outcome);
      if (tool.effect === 'reads' && outcome !== 'refused') {
        reads.note(principal, client, tool.name);
      }
    },
  });
  return { server, redactor };
}
