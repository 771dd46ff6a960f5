/** Owns how the body of an app's answer is framed for the visitor. */
import type { AnswerHead } from './answer-head.ts';
import type { RequestHead } from './request-head.ts';

/** `none`: there is no body, whatever the head says. */
export type AnswerWay = 'none' | 'plain' | 'chunked';

export function answerWayOf(
  { method, isOld }: RequestHead,
  { status, body }: AnswerHead,
): AnswerWay {
  if (status === 204 || status === 304 || method === 'HEAD') return 'none';
  return typeof body === 'number' || isOld ? 'plain' : 'chunked';
}

/** The lines that say so, each with its end. */
export function framingLines(request: RequestHead, answer: AnswerHead): string {
  const { status, body, trailer } = answer;
  if (status === 204) return '';
  if (typeof body === 'number') return `content-length: ${String(body)}\r\n`;
  const way = answerWayOf(request, answer);
  if (request.isOld || (way === 'none' && body !== 'chunked')) return '';
  return `transfer-encoding: chunked\r\n${trailer === '' ? '' : `trailer: ${trailer}\r\n`}`;
}
