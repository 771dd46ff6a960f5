/**
 * Owns who is calling. A principal is plain data: it is resolved once, at the gateway, and crosses
 * threads with the request. `authorize.ts` decides what it may do.
 */

export type Principal =
  | { kind: 'anonymous' }
  | {
      kind: 'person';
      userId: string;
      sessionId: string;
      /**
       * The acting team: the one named by `X-Service-Team`, else the session's current one; null
       * without any.
       */
      teamId: string | null;
      confined?: true;
    }
  | {
      kind: 'token';
      userId: string;
      tokenId: string;
      teamId: string | null;
      /** Set over MCP: what lies in another team than the acting one does not exist for it. */
      confined?: true;
    };

export type SignedIn = Exclude<Principal, { kind: 'anonymous' }>;

export const anonymous: Principal = { kind: 'anonymous' };

/** The id of the session or token that asks; '' for anonymous. */
export function callerOf(principal: Principal): string {
  switch (principal.kind) {
    case 'anonymous':
      return '';
    case 'person':
      return principal.sessionId;
    case 'token':
      return principal.tokenId;
  }
}
