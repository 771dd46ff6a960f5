/**
 * Owns the live connection of a tab: one WebSocket for all subscriptions, opened by the first of them.
 *
 * 1. It comes back by itself for as long as the tab is open: sooner when the network is back, or somebody
 *    looks at the tab again. Subscriptions go on by themselves.
 * 2. A connection that is silent is given up: after sleep nobody tells us that it is gone.
 * 3. It tells whether the server is reached; a short break is not worth a word.
 */
import { type Exchange, subscriptionExchange } from '@urql/core';
import type { Client } from 'graphql-ws/client';
import { actingTeam } from './team.ts';

const pingMs = 12_000;
const pongMs = 6_000;
const retryMinMs = 500;
const retryMaxMs = 20_000;
/** How long a break is not told. */
const graceMs = 2_500;

type Timer = ReturnType<typeof setTimeout>;

export interface Live {
  readonly exchange: Exchange;
  close: () => void;
}

/** `onReached` is told when the server is out of reach, and when it is back. */
export function openLive(path: string, onReached: (reached: boolean) => void): Live {
  let socket: Promise<Client> | null = null;
  const open = (): Promise<Client> => (socket ??= connect(path, onReached));
  const exchange = subscriptionExchange({
    forwardSubscription: ({ query = '', variables }) => ({
      subscribe: (sink) => {
        let stop: (() => void) | null = null;
        let isStopped = false;
        const begin = (client: Client): void => {
          if (isStopped) return;
          stop = client.subscribe(
            { query, variables: { ...variables } },
            {
              next: (result) => sink.next(result as Parameters<typeof sink.next>[0]),
              error: (error) => sink.error(error),
              complete: () => sink.complete(),
            },
          );
        };
        open().then(begin, (error: unknown) => sink.error(error));
        const unsubscribe = (): void => {
          isStopped = true;
          stop?.();
        };
        return { unsubscribe };
      },
    }),
  });
  return { exchange, close: () => void socket?.then((client) => client.dispose()) };
}

/** The library is loaded behind the first view. */
async function connect(path: string, onReached: (reached: boolean) => void): Promise<Client> {
  const { createClient } = await import('graphql-ws/client');
  let lost: Timer | undefined;
  let late: Timer | undefined;
  let current: WebSocket | null = null;
  return createClient({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${path}`,
    connectionParams: () => {
      const team = actingTeam.get();
      return team === null ? {} : { team };
    },
    keepAlive: pingMs,
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: (retries) => soon(Math.min(retryMinMs * 2 ** retries, retryMaxMs)),
    on: {
      opened: (opened) => {
        current = opened as WebSocket;
      },
      connected: () => {
        clearTimeout(lost);
        onReached(true);
      },
      ping: (isReceived) => {
        if (!isReceived) late = setTimeout(() => current?.close(4408, 'No pong'), pongMs);
      },
      pong: () => clearTimeout(late),
      closed: () => {
        clearTimeout(late);
        clearTimeout(lost);
        lost = setTimeout(() => onReached(false), graceMs);
      },
    },
  });
}

/** Resolves after about that long, or as soon as it makes sense to try again. */
function soon(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener('online', done);
      document.removeEventListener('visibilitychange', onLook);
      resolve();
    };
    const onLook = (): void => {
      if (document.visibilityState === 'visible') done();
    };
    const timer = setTimeout(done, ms * (0.75 + Math.random() / 2));
    addEventListener('online', done);
    document.addEventListener('visibilitychange', onLook);
  });
}
