/** Owns what every refusal over HTTP has to look like, for scenarios. */
import assert from 'node:assert/strict';
import { errorTable } from '../../src/lib/errors.ts';
import type { Answer, Problem } from './gangway-client.ts';

const requestIds = new Set<string>();

/** A refusal in the shape that all of them have. */
export function assertProblem(answer: Answer, status: number, code: string, what = ''): Problem {
  const problem = JSON.parse(answer.text) as Problem;
  assert.deepEqual([answer.status, problem.code], [status, code], `${what} ${answer.text}`);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/);
  assert.deepEqual([problem.type, problem.status], ['about:blank', status]);
  assert.equal(problem.title, errorTable[code as keyof typeof errorTable].title);
  assert.match(problem.detail, /^\S.*\.$/);
  assert.doesNotMatch(answer.text, /\/work\/|\/tmp\/|node_modules|\bat .*:\d+:\d+|lmdb/i);
  assert.ok(!requestIds.has(problem.requestId), 'each request has an id of its own');
  requestIds.add(problem.requestId);
  if (status === 429 || status === 503)
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
  return problem;
}
