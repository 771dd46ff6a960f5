/**
 * Owns the pickers: `GET /api/database-versions?engine=`, `/api/node-versions`, `/api/build-tool-versions` and
 * `/api/registry/images`, with `action=search&q=` or `action=tags&image=&filter=`.
 *
 * 1. They are for who is signed in, and for tokens: UNAUTHENTICATED for anybody else.
 * 2. What has to be looked up is limited for each caller: RATE_LIMITED.
 */
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Limit } from '../../lib/rate-limit.ts';
import type { ImageName } from '../../registries/image-name.ts';
import { namedImage, type Pickers } from '../../registries/pickers.ts';
import type { Question } from '../../registries/questions.ts';
import type { EngineTags } from '../../registries/versions.ts';
import type { Callers } from '../credentials.ts';
import type { Exchange, Route } from '../transport.ts';
import { badInput, queryValue } from './query-values.ts';

export interface PickerEngine extends EngineTags {
  image: ImageName;
}

export interface PickerRoutesOptions {
  pickers: Pickers;
  /** By their names in lower case. */
  engines: ReadonlyMap<string, PickerEngine>;
  callers: Pick<Callers, 'either'>;
  isKept: (question: Question) => boolean;
  /** Look-ups by caller. */
  limit: Limit;
}

const textMax = 100;

export function pickerRoutes(options: PickerRoutesOptions): Route[] {
  const { pickers } = options;
  const route = (
    path: string,
    answer: (exchange: Exchange, caller: string) => Promise<object>,
  ) => ({
    method: 'GET' as const,
    path,
    async handle(exchange: Exchange) {
      const value = await answer(exchange, callerOf(options, exchange));
      if (!exchange.aborted) exchange.json(200, value, { 'Cache-Control': 'no-store' });
    },
  });
  return [
    route('/api/database-versions', (exchange) => {
      const engine = options.engines.get(queryValue(exchange.query, 'engine') ?? '');
      if (engine === undefined) {
        throw badInput(`engine must be one of ${[...options.engines.keys()].join(', ')}.`);
      }
      return pickers.engine(engine.image, engine);
    }),
    route('/api/node-versions', () => pickers.node()),
    route('/api/build-tool-versions', () => pickers.tools()),
    route('/api/registry/images', (exchange, caller) => images(options, exchange, caller)),
  ];
}

function images(
  options: PickerRoutesOptions,
  { query }: Exchange,
  caller: string,
): Promise<object> {
  const { pickers } = options;
  switch (queryValue(query, 'action')) {
    case 'search': {
      const text = boundedText(query, 'q').trim();
      if (text === '') throw badInput('q must name what is searched for.');
      spend(options, caller, { kind: 'search', text });
      return pickers.search(text);
    }
    case 'tags': {
      const image = namedImage(queryValue(query, 'image') ?? '');
      const filter = boundedText(query, 'filter').trim();
      spend(options, caller, { kind: 'tags', image, filter });
      return pickers.tags(image, filter);
    }
    default:
      throw badInput('action must be search or tags.');
  }
}

function boundedText(query: URLSearchParams, name: string): string {
  const text = queryValue(query, name) ?? '';
  if (text.length > textMax || /\p{Cc}/u.test(text)) {
    throw badInput(`${name} must be a text of up to ${String(textMax)} characters.`);
  }
  return text;
}

/** What the caller names may be anything; the other questions are few, and the same for all. */
function spend({ isKept, limit }: PickerRoutesOptions, caller: string, question: Question): void {
  const retryAfterS = isKept(question) ? 0 : limit.take(caller);
  if (retryAfterS === 0) return;
  throw new ServiceError('RATE_LIMITED', 'Too many look-ups at registries.', { retryAfterS });
}

/** The person, whose tokens count as that person. */
function callerOf({ callers }: PickerRoutesOptions, exchange: Exchange): string {
  const principal: Principal = callers.either(exchange, { changes: false });
  if (principal.kind === 'anonymous') {
    throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
  }
  return principal.userId;
}
