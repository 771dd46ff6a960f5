/**
 * Owns mutations asked for on a thread without actors: they run where the actors are. A mutation may
 * set cookies on the exchange of its caller, which cannot cross: it brings them back with its answer.
 *
 * 1. A mutation is answered as if it had run on the caller's thread: the same body, the same cookies,
 *    the same wait after too many attempts.
 * 2. When nobody waits for the answer any more, it is dropped, and the mutation's signal aborts.
 */
import type { HttpSide } from '../graphql/context.ts';
import type {
  GraphqlAnswer,
  GraphqlCall,
  Lanes,
  MutationDoor,
} from '../graphql/execution/lanes.ts';

type Carried = 'query' | 'operationName' | 'variables' | 'principal' | 'via' | 'agent' | 'origin';

/** A call as it crosses; plain data. */
export interface CarriedMutation extends Pick<GraphqlCall, Carried> {
  charsMax: number | undefined;
  http: Pick<HttpSide, 'origin' | 'cookieHeader'> | null;
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

/** Has mutations run at home. */
export function remoteMutations(home: HomeMutations): MutationDoor {
  return {
    answer: async (call) => {
      const { http, signal } = call;
      const answer = await home.run(carried(call), signal);
      const { kind, body, cookies, tooManyRetryAfterS } = answer;
      if (cookies.length > 0) http?.setCookies(cookies);
      if (tooManyRetryAfterS !== null) http?.tooMany(tooManyRetryAfterS);
      return { kind, body };
    },
  };
}

function carried(call: GraphqlCall): CarriedMutation {
  const { query, operationName, variables, principal, via, charsMax } = call;
  const { agent = null, origin = null } = call;
  const http = call.http && { origin: call.http.origin, cookieHeader: call.http.cookieHeader };
  return { query, operationName, variables, principal, via, agent, origin, charsMax, http };
}

/** Runs here what another thread's `remoteMutations` asks for. */
export function homeMutations(graphql: { load(): Promise<Pick<Lanes, 'answer'>> }): HomeMutations {
  return {
    run: async ({ http, charsMax, ...call }, signal) => {
      const lanes = await graphql.load();
      const cookies: string[] = [];
      let tooManyRetryAfterS: number | null = null;
      const { kind, body } = await lanes.answer({
        ...call,
        ...(charsMax !== undefined && { charsMax }),
        http: http && {
          ...http,
          setCookies: (set) => cookies.push(...set),
          tooMany: (retryAfterS) => {
            tooManyRetryAfterS = Math.max(retryAfterS, tooManyRetryAfterS ?? 0);
          },
        },
        signal,
        request: null,
      });
      // A copy: the body shares memory with other answers, which would cross with it.
      return { kind, body: new Uint8Array(body), cookies, tooManyRetryAfterS };
    },
  };
}
