/**
 * Owns the parts that exist once, however many threads serve: sign-in, OAuth and setup, whose state lies in
 * memory, and the routes that need them.
 */
import { join } from 'node:path';
import type { GithubConnections } from '../actors/git/github-connections.ts';
import type { GithubConnects } from '../actors/git/github-connects.ts';
import type { Accounts } from '../auth/sign-in/accounts.ts';
import { createOAuth } from '../auth/oauth/oauth.ts';
import { authorize, capabilitiesIn, teamIdsOf } from '../auth/rights/authorize.ts';
import { resetsFolder } from '../auth/sign-in/password-resets.ts';
import { newSetupCode } from '../auth/sign-in/typed-codes.ts';
import type { Route } from '../gateway/transport.ts';
import type { Metrics } from '../gateway/metrics.ts';
import { agentProgramRoute } from '../gateway/transports/agent-program.ts';
import { consolePageRoutes } from '../gateway/transports/console-pages.ts';
import { githubConnectRoutes } from '../gateway/transports/github-connect.ts';
import { inviteRoutes } from '../gateway/transports/invite.ts';
import { loginRoutes } from '../gateway/transports/login.ts';
import { connectRoutes } from '../gateway/transports/mcp-connect.ts';
import { metricsRoute } from '../gateway/transports/metrics.ts';
import { oauthRoutes } from '../gateway/transports/oauth.ts';
import { resetRoutes } from '../gateway/transports/reset.ts';
import { setupRoutes } from '../gateway/transports/setup.ts';
import { twoFactorRoutes } from '../gateway/transports/two-factor.ts';
import { systemClock } from '../lib/clock.ts';
import type { GuardedFetch } from '../lib/guarded-fetch.ts';
import { servePickers, type ServedPickers } from './pickers.ts';
import { RateLimit } from '../lib/rate-limit.ts';
import { McpReads } from '../mcp/reads.ts';
import { AgentProgram } from './agent-program.ts';
import type { Core } from './core.ts';
import { tables } from '../store/records/tables.ts';

const registrationsPerHour = 10;

export interface HomeOptions {
  core: Core;
  metrics: Metrics;
  fetch: GuardedFetch;
  github: { connects: GithubConnects; connections: GithubConnections };
  /** Of the page that sets it up. */
  warnings: () => string[];
}

export class Home {
  /** Null for an instance that is set up. */
  readonly setupCode: string | null;
  readonly routes: readonly Route[];
  /** The reads of all threads: the activity has one entry for each token and day. */
  readonly reads: McpReads;
  readonly #core: Core;
  readonly #oauth;
  readonly #pickers: ServedPickers;
  readonly #agentProgram: AgentProgram;
  #accounts: Promise<Accounts> | null = null;

  constructor(options: HomeOptions) {
    const { core } = options;
    this.#core = core;
    this.setupCode = core.needsSetup() ? newSetupCode() : null;
    const { logger: log, ground } = core;
    const { store: reader, actors } = ground;
    this.reads = new McpReads({ actors, reader, clock: systemClock, log });
    this.#oauth = this.#createOAuth(options.fetch);
    this.#pickers = servePickers(core, options.fetch);
    this.#agentProgram = new AgentProgram(log);
    this.routes = [...this.#routes(options), ...this.#oauthRoutes(), ...this.#pickers.routes];
  }

  readonly accounts = (): Promise<Accounts> => (this.#accounts ??= this.#createAccounts());

  async close(): Promise<void> {
    this.#agentProgram.close();
    this.#oauth.close();
    await this.#pickers.close();
  }

  #routes({ metrics, warnings, github }: HomeOptions): Route[] {
    const { accounts } = this;
    const { config, ground, callers, accountReads, needsSetup, publicUrl } = this.#core;
    const { store, actors, causes } = ground;
    return [
      metricsRoute({
        metrics,
        access: config.metrics,
        token: config.metricsToken,
        networks: config.metricsNetworks,
        publicUrl,
        callers,
        authorizeAdmin: (principal) => authorize(store, principal, 'admin', { kind: 'instance' }),
      }),
      ...setupRoutes({
        accounts,
        accountReads,
        needsSetup,
        callers,
        warnings,
      }),
      ...resetRoutes({ accounts, callers }),
      ...loginRoutes({ accounts, accountReads, needsSetup, callers }),
      ...twoFactorRoutes({ accounts, accountReads, callers }),
      ...inviteRoutes({ accounts, accountReads, callers }),
      ...connectRoutes({ reader: store, actors, causes, callers, publicUrl }),
      ...consolePageRoutes({ reader: store, callers }),
      agentProgramRoute(this.#agentProgram.load),
      ...githubConnectRoutes({
        ...{ reader: store, callers, connects: github.connects, github: github.connections },
      }),
    ];
  }

  #createOAuth(fetch: GuardedFetch) {
    const { ground, logger: log, secret, publicUrl } = this.#core;
    const { store, actors } = ground;
    return createOAuth({
      ...{ reader: store, actors, clock: systemClock, log, secret, publicUrl },
      subscribe: (listener) => store.subscribe(listener),
      fetch,
    });
  }

  #oauthRoutes(): Route[] {
    const { ground, callers, publicUrl } = this.#core;
    const { store } = ground;
    return oauthRoutes({
      ...{ oauth: this.#oauth, callers, publicUrl },
      registrations: new RateLimit({ burst: registrationsPerHour, windowMs: 3_600_000 }),
      teamsOf: (person) =>
        teamIdsOf(store, person).flatMap((id) => store.get(tables.teams, id) ?? []),
      capabilitiesIn: (person, teamId) => capabilitiesIn(store, person, teamId),
    });
  }

  async #createAccounts(): Promise<Accounts> {
    const { config, logger, ground, secret, audit, publicUrl } = this.#core;
    const { Accounts } = await import('../auth/sign-in/accounts.ts');
    return new Accounts({
      reader: ground.store,
      actors: ground.actors,
      clock: systemClock,
      log: logger,
      secret,
      secrets: ground.secrets,
      resetsDir: join(config.dataDir, resetsFolder),
      setupCode: this.setupCode ?? newSetupCode(),
      publicUrl: publicUrl(),
      onRefused: audit.signInRefused,
    });
  }
}
