/**
 * Owns one request on its way to one target, and the answer on its way back.
 *
 * 1. Nothing of a body is taken from the client before there is a connection to send it over.
 * 2. Neither side is read faster than the other takes it.
 * 3. When an app answers before it has read all, the rest of the request is read and dropped behind the answer.
 * 4. It ends with the client's connection, and when the app sends nothing for long.
 */
import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';

import type { Target } from '../../protocol/edge-messages.ts';
import { answerHead, boundInterim, isPassable } from './app-answers.ts';
import { http } from './lean-http.ts';
import { noticeOf, sendNotice } from './pages.ts';
import { hasBody } from './request-head.ts';

/** An exchange ends when the app sends nothing for this long. */
const silenceMs = 10 * 60_000;

export interface Passage {
  target: Target;
  agent: Agent;
  /** What the app is to see: names and values in turn. */
  head: readonly (string | string[])[];
  keepsConnection: boolean;
}

export interface Failure {
  error: unknown;
  /** Undefined: there was no connection, so nothing of the request was sent. */
  outgoing: ClientRequest | undefined;
}

/** Resolves with the failure, or with nothing when the exchange took its course. */
export function exchange(
  req: IncomingMessage,
  res: ServerResponse,
  { target, agent, head, keepsConnection }: Passage,
): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    const { host, port } = target;
    const { method, url: path } = req;
    const headers = head as string[];
    const outgoing = http.request({ host, port, method, path, headers, agent });
    let connected: ClientRequest | undefined;
    outgoing.once('socket', () => {
      connected = outgoing;
      if (hasBody(req)) req.pipe(outgoing);
    });
    if (!hasBody(req)) outgoing.end();
    outgoing.setTimeout(silenceMs, () => outgoing.destroy());
    outgoing.on('error', (error) => resolve({ error, outgoing: connected }));
    res.once('close', () => {
      if (!res.writableFinished) outgoing.destroy();
      resolve(undefined);
    });
    boundInterim(outgoing);
    outgoing.once('response', (answer) => {
      dropWhatIsNotRead(req, outgoing, answer);
      if (isPassable(answer)) passOn(answer, res, keepsConnection);
      else refuse(answer, res);
    });
    // Nobody asked for another protocol. Unheard, this would never be told to anybody.
    outgoing.once('upgrade', (_answer, upstream) => {
      sendNotice(res, noticeOf(502));
      upstream.destroy();
    });
  });
}

function refuse(answer: IncomingMessage, res: ServerResponse): void {
  sendNotice(res, noticeOf(502));
  answer.on('error', () => undefined); // It has been answered.
  answer.destroy();
}

function passOn(answer: IncomingMessage, res: ServerResponse, keepsConnection: boolean): void {
  const { statusCode = 0, statusMessage = '' } = answer;
  try {
    const head = answerHead(answer, res.req.httpVersion, keepsConnection) as string[];
    res.writeHead(statusCode, statusMessage, head);
  } catch {
    refuse(answer, res); // It has what may not be written again.
    return;
  }
  answer.on('data', (chunk: Buffer) => {
    if (res.write(chunk)) return;
    answer.pause();
    res.once('drain', () => answer.resume());
  });
  answer.once('end', () => res.end());
  answer.on('error', () => res.destroy());
  answer.once('close', () => {
    if (!answer.complete) res.destroy();
  });
}

function dropWhatIsNotRead(
  req: IncomingMessage,
  outgoing: ClientRequest,
  answer: IncomingMessage,
): void {
  if (outgoing.writableFinished) return;
  const drop = (): void => {
    if (outgoing.writableFinished) return;
    req.unpipe(outgoing);
    req.resume();
  };
  answer.once('end', drop);
  answer.once('close', () => {
    if (outgoing.writableFinished) return;
    drop();
    outgoing.destroy();
  });
}
