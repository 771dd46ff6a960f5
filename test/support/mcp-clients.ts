/** The official clients as one: each connects, lists and calls as an agent's host does. */
import {
  Client as ModernClient,
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

export interface AgentSession {
  /** The revision both sides settled on. */
  revision: string | undefined;
  serverName: string | undefined;
  /** Whatever went wrong besides the calls. */
  errors: Error[];
  tools(): Promise<{ name: string; outputSchema?: unknown }[]>;
  call(
    name: string,
    args?: Record<string, unknown>,
    onProgress?: (progress: Progress) => void,
  ): Promise<CallAnswer>;
  close(): Promise<void>;
}

export interface AgentClient {
  name: string;
  revision: string;
  connect(url: string, token: string): Promise<AgentSession>;
  /** From the address alone: what it opens in a browser, `person` consents to. */
  authorize(url: string, person: Person): Promise<AgentSession>;
}

const info = { name: 'agent-of-a-test', version: '1.0.0' };

const bearer = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

/** Keeps what a client learns, and goes where it sends the person. */
class Provider {
  readonly redirectUrl = oauth.redirectUri;
  readonly clientMetadata = { client_name: 'Agent', redirect_uris: [oauth.redirectUri] };
  location = '';
  #information: oauth.Registered | undefined;
  #tokens: { access_token: string; token_type: string } | undefined;
  #verifier = '';

  clientInformation() {
    return this.#information;
  }

  saveClientInformation(information: oauth.Registered) {
    this.#information = information;
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens: { access_token: string; token_type: string }) {
    this.#tokens = tokens;
  }

  redirectToAuthorization(url: URL) {
    this.location = url.href;
  }

  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  /** Where the person is led back to. */
  async consented(person: Person): Promise<URLSearchParams> {
    return (await oauth.redirectAfter(oauth.consent(person, this.location))).searchParams;
  }
}

type Mode = NonNullable<
  NonNullable<ConstructorParameters<typeof ModernClient>[1]>['versionNegotiation']
>['mode'];

function modern(name: string, revision: string, mode?: Mode): AgentClient {
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
      call: async (tool, args = {}, onProgress) =>
        (await client.callTool(
          { name: tool, arguments: args },
          onProgress && { onprogress: onProgress },
        )) as CallAnswer,
      close: () => client.close(),
    };
  };
  return {
    name,
    revision,
    connect: (url, token) => open(new ModernTransport(new URL(url), bearer(token))),
    async authorize(url, person) {
      const provider = new Provider();
      const first = new ModernTransport(new URL(url), { authProvider: provider });
      await refused(open(first), ModernUnauthorized);
      await first.finishAuth(await provider.consented(person));
      return open(new ModernTransport(new URL(url), { authProvider: provider }));
    },
  };
}

function earlier(name: string, revision: string): AgentClient {
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
      call: async (tool, args = {}, onProgress) =>
        (await client.callTool(
          { name: tool, arguments: args },
          undefined,
          onProgress && { onprogress: onProgress },
        )) as CallAnswer,
      close: () => client.close(),
    };
  };
  return {
    name,
    revision,
    connect: (url, token) => open(new EarlierTransport(new URL(url), bearer(token))),
    async authorize(url, person) {
      const provider = new Provider();
      const first = new EarlierTransport(new URL(url), { authProvider: provider });
      await refused(open(first), UnauthorizedError);
      await first.finishAuth((await provider.consented(person)).get('code') ?? '');
      return open(new EarlierTransport(new URL(url), { authProvider: provider }));
    },
  };
}

async function refused(
  connecting: Promise<unknown>,
  expected: new (message?: string) => Error,
): Promise<void> {
  try {
    await connecting;
  } catch (error) {
    if (error instanceof expected) return;
    throw error;
  }
  throw new Error('It connected without a token.');
}

export const agentClients: readonly AgentClient[] = [
  modern('SDK 2.x as it comes', '2025-11-25'),
  modern('SDK 2.x that asks for the newest', '2026-07-28', 'auto'),
  modern('SDK 2.x that takes no other', '2026-07-28', { pin: '2026-07-28' }),
  earlier('SDK 1.x', '2025-11-25'),
];
