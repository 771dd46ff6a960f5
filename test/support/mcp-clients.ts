/** The official clients as one: each connects, lists and calls as an agent's host does. */
import {
  Client as ModernClient,
  type McpSubscription,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport as ModernTransport,
  UnauthorizedError as ModernUnauthorized,
} from '@modelcontextprotocol/client';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Client as Person } from './gangway-client.ts';
import * as oauth from './oauth.ts';

export interface CallAnswer {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

export interface Progress {
  progress: number;
  message?: string | undefined;
}

export interface ListedTool {
  name: string;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
}

export interface CallOptions {
  onprogress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

export interface AgentSession {
  /** The revision both sides settled on. */
  revision: string | undefined;
  serverName: string | undefined;
  /** Whatever went wrong besides the calls. */
  errors: Error[];
  tools(): Promise<ListedTool[]>;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CallAnswer>;
  /** Null where the revision has no such thing. */
  listen: (() => Promise<McpSubscription>) | null;
  close(): Promise<void>;
}

/** What an agent got by OAuth, and keeps. */
export interface Granted {
  session: AgentSession;
  /** Another session with what it keeps. */
  again(): Promise<AgentSession>;
  /** After a call that was refused for its scope: the person consents to what the client asks. */
  widened(person: Person): Promise<AgentSession>;
  /** Makes its access token one that no server takes. */
  spoil(): void;
}

export interface AgentClient {
  name: string;
  revision: string;
  /** Whether it asks its person for a wider token; the others refresh theirs, which widens nothing. */
  widens: boolean;
  connect(url: string, token: string): Promise<AgentSession>;
  /** From the address alone: what it opens in a browser, `person` consents to. */
  authorize(url: string, person: Person, choice?: oauth.Choice): Promise<Granted>;
}

const info = { name: 'agent-of-a-test', version: '1.0.0' };

const bearer = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

/** A client registers once. */
interface Registration {
  information?: oauth.Registered;
}

interface KeptTokens {
  access_token: string;
  token_type: string;
  refresh_token?: string | undefined;
  scope?: string | undefined;
}

/** Keeps what a client learns, and where it sends its person. */
class Memory {
  readonly redirectUrl = oauth.redirectUri;
  readonly clientMetadata = { client_name: 'Agent', redirect_uris: [oauth.redirectUri] };
  kept: KeptTokens | undefined;
  readonly #registration: Registration;
  #location = '';
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor(registration: Registration) {
    this.#registration = registration;
  }

  clientInformation() {
    return this.#registration.information;
  }

  saveClientInformation(information: oauth.Registered) {
    this.#registration.information = information;
  }

  discoveryState() {
    return this.#discovered;
  }

  saveDiscoveryState(discovered: OAuthDiscoveryState) {
    this.#discovered = discovered;
  }

  tokens() {
    return this.kept;
  }

  saveTokens(tokens: KeptTokens) {
    this.kept = tokens;
  }

  redirectToAuthorization(url: URL) {
    this.#location = url.href;
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  /** What the person is led back with. */
  async consented(person: Person, choice?: oauth.Choice): Promise<URLSearchParams> {
    return (await oauth.redirectAfter(oauth.consent(person, this.#location, choice))).searchParams;
  }
}

type Mode = NonNullable<
  NonNullable<ConstructorParameters<typeof ModernClient>[1]>['versionNegotiation']
>['mode'];

function modern(name: string, revision: string, mode?: Mode): AgentClient {
  const registration: Registration = {};
  const open = async (transport: ModernTransport): Promise<AgentSession> => {
    const client = new ModernClient(info, mode && { versionNegotiation: { mode } });
    const errors: Error[] = [];
    client.onerror = (error) => errors.push(error);
    await client.connect(transport);
    return {
      revision: client.getNegotiatedProtocolVersion(),
      serverName: client.getServerVersion()?.name,
      errors,
      tools: async () => (await client.listTools()).tools,
      call: async (tool, args = {}, options = {}) =>
        (await client.callTool({ name: tool, arguments: args }, options)) as CallAnswer,
      listen:
        client.getProtocolEra() === 'modern'
          ? () => client.listen({ toolsListChanged: true })
          : null,
      close: () => client.close(),
    };
  };
  return {
    name,
    revision,
    widens: true,
    connect: (url, token) => open(new ModernTransport(new URL(url), bearer(token))),
    authorize: (url, person, choice) => {
      const authProvider = new Memory(registration);
      const transport = (): ModernTransport => new ModernTransport(new URL(url), { authProvider });
      const back = (by: ModernTransport, params: URLSearchParams) => by.finishAuth(params);
      return granted(authProvider, { open, transport, back }, person, choice);
    },
  };
}

function earlier(name: string, revision: string): AgentClient {
  const registration: Registration = {};
  const open = async (transport: EarlierTransport): Promise<AgentSession> => {
    const client = new EarlierClient(info);
    const errors: Error[] = [];
    client.onerror = (error) => errors.push(error);
    // Its own types do not stand exactOptionalPropertyTypes.
    await client.connect(transport);
    return {
      revision: transport.protocolVersion,
      serverName: client.getServerVersion()?.name,
      errors,
      tools: async () => (await client.listTools()).tools,
      call: async (tool, args = {}, options = {}) =>
        (await client.callTool({ name: tool, arguments: args }, undefined, options)) as CallAnswer,
      listen: null,
      close: () => client.close(),
    };
  };
  return {
    name,
    revision,
    widens: false,
    connect: (url, token) => open(new EarlierTransport(new URL(url), bearer(token))),
    authorize: (url, person, choice) => {
      const authProvider = new Memory(registration);
      const transport = (): EarlierTransport =>
        new EarlierTransport(new URL(url), { authProvider });
      const back = (by: EarlierTransport, params: URLSearchParams) =>
        by.finishAuth(params.get('code') ?? '');
      return granted(authProvider, { open, transport, back }, person, choice);
    },
  };
}

interface Flow<Transport> {
  transport: () => Transport;
  open: (transport: Transport) => Promise<AgentSession>;
  /** The person was led back with these. */
  back: (transport: Transport, params: URLSearchParams) => Promise<void>;
}

async function granted<Transport>(
  memory: Memory,
  { transport, open, back }: Flow<Transport>,
  person: Person,
  choice?: oauth.Choice,
): Promise<Granted> {
  const first = transport();
  await refused(open(first));
  await back(first, await memory.consented(person, choice));
  const used = transport();
  return {
    session: await open(used),
    again: () => open(transport()),
    async widened(whom) {
      await back(used, await memory.consented(whom));
      return open(transport());
    },
    spoil() {
      if (memory.kept) memory.kept = { ...memory.kept, access_token: 'no-longer' };
    },
  };
}

/** It asked its person instead. */
export async function refused(doing: Promise<unknown>): Promise<void> {
  try {
    await doing;
  } catch (error) {
    if (error instanceof ModernUnauthorized || error instanceof UnauthorizedError) return;
    throw error;
  }
  throw new Error('It went on without asking its person.');
}

export const agentClients = (): AgentClient[] => [
  modern('SDK 2.x as it comes', '2025-11-25'),
  modern('SDK 2.x that asks for the newest', '2026-07-28', 'auto'),
  modern('SDK 2.x that takes no other', '2026-07-28', { pin: '2026-07-28' }),
  earlier('SDK 1.x', '2025-11-25'),
];
