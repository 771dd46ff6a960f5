/** Owns the shapes of what is stored of agents: programs on other servers that dial in. */

/** The certificate authority for agents. */
export interface AgentAuthorityRecord {
  id: string;
  /** In PEM. */
  certificate: string;
  /** The private key in PEM, sealed. */
  key: Uint8Array;
  /** The certificate of the agents' port, with its key, sealed. */
  control: { certificate: string; key: Uint8Array };
  createdAtMs: number;
}

/** A certificate that an agent is admitted with. */
export interface GoodCertificate {
  /** In hex, upper case. */
  serial: string;
  notAfterMs: number;
}

/** The token that was shown when the server was added, or when somebody asked for another one. */
export interface BootstrapToken {
  /** SHA-256 of the whole token, hex. */
  tokenHash: string;
  expiresAtMs: number;
  /** When the one certificate was issued that it is good for; null: it was not yet. */
  usedAtMs: number | null;
}

export type TakeoverState = 'waiting' | 'done' | 'removing' | 'removed' | 'failed';

/** What the installer tells that takes a machine over from another platform. */
export interface Takeover {
  state: TakeoverState;
  updatedAtMs: number;
  /** The installer's own words for how it came to this state. */
  reason: string | null;
  /** The installer has read the final state: the token is not good for it any more. */
  isOver: boolean;
}

export interface AgentState {
  /** Null: none is good for anything any more. */
  bootstrap: BootstrapToken | null;
  /** Those that are not revoked, the oldest first. */
  certificates: readonly GoodCertificate[];
  /** Why the agent is not let in, or left, in a sentence; null: nothing is known. */
  problem: string | null;
  takeover: Takeover | null;
  /** What the server has is moved away, and it is removed after that. */
  isLeaving?: boolean;
  /** Where it was added: whose activity tells of it. */
  teamId: string | null;
  createdAtMs: number;
}
