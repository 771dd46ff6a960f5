/**
 * Owns mutations asked for on a thread without actors: they run where the actors are. A mutation may
 * set cookies on the exchange of its caller, which cannot cross: it brings them back with its answer.
 *
 * 1. A mutation is answered as if it had run on the caller's thread: the same body, the same cookies,
 *    the same wait after too many attempts.
 * 2. When nobody waits for the answer any more, it is dropped, and the mutation's signal aborts.
 */
import type { Principal } from '../auth/callers/principal.ts';
import type { Origin } from '../auth/sign-in/sign-in.ts';
import type { AgentSide, HttpSide } from '../graphql/context.ts';
import type { Variables } from '../graphql/execution/operation.ts';
import type {
  GraphqlAnswer,
  GraphqlCall,
  Lanes,
  MutationDoor,
} from '../graphql/execution/lanes.ts';

/** A call as it crosses; plain data. */
export interface CarriedMutation {
  query: string;
  operationName: string | undefined;
  variables: Variables;
  principal: Principal;
  via: GraphqlCall['via'];
  agent: AgentSide | null;
  origin: NonNullable<GraphqlCall['origin']> | null;
  charsMax: number | undefined;
  http: { origin: Origin; cookieHeader: string } | null;
}

/** An answer as it crosses; plain data. */
export interface CarriedAnswer extends GraphqlAnswer {
  cookies: readonly string[];
  /** Set when a limit refused a sign-in. */
  tooManyRetryAfterS: number | null;
}

/** What the thread where the actors are does for others. */
export interface HomeMutations {
  run(call: CarriedMutation, signal: AbortSignal | null): Promise<CarriedAnswer>;
}

export class RemoteMutations implements MutationDoor {
  readonly #home: HomeMutations;

  constructor(home: HomeMutations) {
    this.#home = home;
  }

  async answer(call: GraphqlCall): Promise<GraphqlAnswer> {
    const { http, signal } = call;
    const answer = await this.#home.run(carried(call), signal);
    const { kind, body, cookies, tooManyRetryAfterS } = answer;
    if (cookies.length > 0) http?.setCookies(cookies);
    if (tooManyRetryAfterS !== null) http?.tooMany(tooManyRetryAfterS);
    return { kind, body };
  }
}

function carried(call: GraphqlCall): CarriedMutation {
  const { query, operationName, variables, principal, via, charsMax } = call;
  const { agent = null, origin = null } = call;
  const http = call.http && { origin: call.http.origin, cookieHeader: call.http.cookieHeader };
  return { query, operationName, variables, principal, via, agent, origin, charsMax, http };
}

/** Runs here what another thread's `RemoteMutations` asks for. */
export function homeMutations(graphql: { load(): Promise<Pick<Lanes, 'answer'>> }): HomeMutations {
  return {
    run: async ({ http, charsMax, ...call }, signal) => {
      const lanes = await graphql.load();
      const side = http && new CarriedHttp(http);
      const { kind, body } = await lanes.answer({
        ...call,
        ...(charsMax !== undefined && { charsMax }),
        http: side,
        signal,
        request: null,
      });
      return {
        kind,
        // A copy: the body shares memory with other answers, which would cross with it.
        body: new Uint8Array(body),
        cookies: side?.cookies ?? [],
        tooManyRetryAfterS: side?.retryAfterS ?? null,
      };
    },
  };
}

/** Keeps what a mutation does to the answer of its exchange. */
class CarriedHttp implements HttpSide {
  readonly origin: Origin;
  readonly cookieHeader: string;
  readonly cookies: string[] = [];
  retryAfterS: number | null = null;

  constructor({ origin, cookieHeader }: NonNullable<CarriedMutation['http']>) {
    this.origin = origin;
    this.cookieHeader = cookieHeader;
  }

  setCookies(cookies: readonly string[]): void {
    this.cookies.push(...cookies);
  }

  tooMany(retryAfterS: number): void {
    this.retryAfterS = Math.max(retryAfterS, this.retryAfterS ?? 0);
  }
}
