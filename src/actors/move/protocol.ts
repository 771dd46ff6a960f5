/** Owns the messages of moves, which the actors of apps and of databases have in common. */

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type MoveProtocol<R> = {
  /**
   * Begins to move it to another server; to where it came from, while that goes on: it stays there. BAD_USER_INPUT,
   * CONFLICT, RESTORE_RUNNING, DEPLOY_IN_PROGRESS, ENGINE_NOT_AVAILABLE, AGENT_UNREACHABLE. `isForced`: whatever refers to
   * it, or it refers to.
   */
  move: { in: { serverId: string; isForced?: boolean }; out: R };
  /** An alarm: removes the files that a move left behind, and wakes what a crash cut off. */
  'move-tidy': { in: object; out: boolean };
};
