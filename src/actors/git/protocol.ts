/**
 * Owns the messages of the `git` actor: the only way to change a connection to a git provider, and the one
 * place where its deliveries are taken. The sender's rights were checked before.
 */
import type { NewApp } from '../../git/github/github-api.ts';
import type { PushDelivery } from '../../git/providers/provider.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import { actorKind } from '../runtime/actor.ts';

export interface NewConnection {
  provider: string;
  label: string;
  baseUrl: string;
  token: string | null;
  username: string | null;
  webhookSecret: string | null;
}

/** An App at GitHub, which a manifest has made. */
export interface NewGithubConnection {
  baseUrl: string;
  app: NewApp;
}

// A type, not an interface: it has to be assignable to Protocol's index signature.
export type GitProtocol = {
  /** The actor's id is the new connection's. Refused: BAD_USER_INPUT. */
  create: {
    in: { teamId: string; connection: NewConnection | NewGithubConnection };
    out: GitConnectionRecord;
  };
  /** Its deliveries go with it; apps that name it stay. */
  delete: { in: object; out: boolean };
  /** Journals what moved for each app of the repository, and hands it on. NOT_FOUND without the connection. */
  deliver: { in: { pushes: PushDelivery[] }; out: boolean };
  /** Hands on what an earlier process journaled. */
  wake: { in: object; out: boolean };
};

export const gitActor = actorKind<GitProtocol>('git');
