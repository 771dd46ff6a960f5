/**
 * Owns who is calling. A principal is plain data: it is resolved once at the gateway and crosses
 * threads with the request; what it may do is decided in `authorize.ts`.
 */

export type Principal =
  | { kind: 'anonymous' }
  | {
      kind: 'person';
      userId: string;
      sessionId: string;
      /** Acting team: named by `X-Service-Team`, else the session's current one; null without any. */
      teamId: string | null;
      confined?: true;
    }
  | {
      kind: 'token';
      userId: string;
      tokenId: string;
      teamId: string | null;
      /** Whether what lies in another team than the acting one does not exist for it, as over MCP. */
      confined?: true;
    };

export type SignedIn = Exclude<Principal, { kind: 'anonymous' }>;

export const anonymous: Principal = { kind: 'anonymous' };

/** What asks: one session or one token; '' for anybody else. */
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
