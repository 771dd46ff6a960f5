/**
 * Entry point of the edge: owns its wiring to the runner, which started it and ends it.
 *
 * 1. It reads what strangers send, so it gives up being root first. Nothing is loaded from then on.
 * 2. It ends with its runner: by then what it leads to on this machine has ended, too, and nobody could tell any
 *    more whose listener it is.
 */
import fs from 'node:fs';
import { setFlagsFromString } from 'node:v8';

import type { EdgeOrder, FromEdge, FromRunner } from '../../protocol/edge-messages.ts';
import { systemClock } from '../../lib/clock.ts';
import { lineLogger } from '../../lib/line-logger.ts';
import { serveFirst } from '../../lib/processes/go-first.ts';
import { Edge, type ListeningHandle } from './edge.ts';
import { RunnerLink } from './runner-link.ts';

/** What is longer under way when another edge has taken over is broken off. */
const drainMs = 10 * 60_000;
/** Behind that of apps, before that of what nobody but an administrator starts. */
const oomScore = '-300';

function beLastToBeEnded(): void {
  try {
    fs.writeFileSync('/proc/self/oom_score_adj', oomScore);
  } catch {
    // It takes root.
  }
}

function giveUpRoot(uid: number): void {
  process.setgroups?.([]);
  process.setgid?.(uid);
  process.setuid?.(uid);
}

function send(message: FromEdge, sent?: () => void): void {
  // When it cannot be sent the runner is gone.
  process.send?.(message, undefined, undefined, () => sent?.());
}

/** What was told last goes first. */
function endOnceSent(): void {
  process.send?.({ done: 0 } satisfies FromEdge, () => process.exit(0));
}

function main(): void {
  // As whom it is to run.
  const [uid] = process.argv.slice(2);
  const logger = lineLogger('edge');
  process.on('uncaughtException', (err) => logger.error({ err }, 'exception_not_caught'));
  process.on('unhandledRejection', (err) => logger.error({ err }, 'rejection_not_handled'));
  process.on('disconnect', () => process.exit(0));
  serveFirst();
  beLastToBeEnded();
  const link = new RunnerLink(send);
  const edge = new Edge({ tenants: link, tell: send, clock: systemClock, logger });
  if (uid !== undefined) giveUpRoot(Number(uid));
  // Off until now: what it would have made of the start is worth nothing, and takes 6 MB.
  setFlagsFromString('--opt');

  const obey = async (order: EdgeOrder, handle: ListeningHandle | undefined): Promise<void> => {
    switch (order.op) {
      case 'begin':
        edge.shareWith(order.processes ?? 1);
        edge.trust(order.trustedProxies);
        edge.setRoutes(order.routes);
        edge.setCertificates(order.certificates);
        for (const [workload, place] of order.places) link.place(workload, place);
        if (handle !== undefined) await edge.listen(handle);
        return;
      case 'listen-tls':
        if (handle !== undefined) await edge.listenTls(handle, order.ticketKeys);
        return;
      case 'ticket-keys':
        edge.setTicketKeys(order.ticketKeys);
        return;
      case 'certificates':
        edge.setCertificates(order.certificates);
        return;
      case 'trust':
        edge.trust(order.proxies);
        return;
      case 'routes':
        edge.setRoutes(order.routes);
        return;
      case 'place':
        link.place(order.workload, order.place);
        return;
      case 'drain':
        edge.drain(drainMs, endOnceSent);
        return;
      case 'live':
    }
  };
  process.on('message', (message: FromRunner, handle: unknown) => {
    if ('re' in message) {
      link.answer(message.re, message.ok);
      return;
    }
    obey(message, handle as ListeningHandle | undefined).then(
      () => send({ done: message.n }),
      (err: unknown) => {
        // The runner starts another one.
        logger.fatal({ err }, 'edge_order_failed');
        process.exit(1);
      },
    );
  });
}

main();
