/**
 * Owns what is refused before a handler sees it, in one order: framing (400), size of the head (431), drain (503), path
 * (404), method (405).
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Match } from '../routes.ts';
import { notFound, shuttingDown } from './problem.ts';
import type { CopiedHead } from './request-head.ts';

export interface RefusalRules {
  headerBytes: number;
  isServing: boolean;
}

/** Undefined: nothing is. */
export function refusalOf(
  head: CopiedHead,
  match: Match,
  { headerBytes, isServing }: RefusalRules,
): ServiceError | undefined {
  if (head.framing.kind === 'refused') {
    return new ServiceError('BAD_REQUEST', head.framing.detail);
  }
  if (head.bytes > headerBytes) {
    return new ServiceError('HEADERS_TOO_LARGE', 'The head of the request is too large.');
  }
  if (!isServing) return shuttingDown();
  switch (match.kind) {
    case 'none':
      return notFound();
    case 'otherMethod':
      return new ServiceError('METHOD_NOT_ALLOWED', 'This address takes other methods.', {
        headers: { Allow: match.allow },
      });
    case 'found':
      return undefined;
  }
}
