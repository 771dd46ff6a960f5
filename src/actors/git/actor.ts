/**
 * Owns the `git` actor: a team's connection to a git provider, and what that delivers. The token and the
 * webhook's secret are stored sealed, each for its own connection.
 */
import { webhookHash, webhookToken } from '../../git/deliveries/webhook-token.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import { shownText } from '../../lib/names.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import { insert, removeAll, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import type { SecretBox } from '../workload/deps.ts';
import { checkConnection } from './checked.ts';
import { githubKeyContext, tokenContext, webhookSecretContext } from './connection.ts';
import { Deliveries, type DeliveriesParts } from './deliveries.ts';
import {
  gitActor,
  type GitProtocol,
  type NewConnection,
  type NewGithubConnection,
} from './protocol.ts';

export interface GitParts extends DeliveriesParts {
  secrets: SecretBox;
  /** Judges addresses. */
  fetch: Pick<GuardedFetch, 'checked'>;
  /** Of the addresses of webhooks, hex. */
  webhookKey: string;
}

// A host may deliver a storm of pushes again; each takes microseconds.
const mailboxMax = 4096;
const labelMax = 100;

type Owned = Pick<GitConnectionRecord, 'id' | 'teamId'>;

export function gitDefinition(parts: GitParts): ActorDefinition<GitProtocol> {
  return { kind: gitActor, mailboxMax, activate: (context) => handlersOf(parts, context) };
}

function handlersOf(parts: GitParts, context: ActorContext<GitProtocol>): Actor<GitProtocol> {
  const { reader } = parts;
  const { id } = context.ref;
  const deliveries = new Deliveries(parts, context);
  const found = (): Readonly<GitConnectionRecord> => {
    const record = reader.get(tables.gitConnections, id);
    if (!record) throw new ServiceError('NOT_FOUND', 'No such git connection.');
    return record;
  };
  return {
    create: async ({ teamId, connection }) => {
      const owned = { id, teamId };
      const record =
        'app' in connection
          ? newGithubRecord(parts, owned, connection)
          : newRecord(parts, owned, connection);
      await context.commit([insert(tables.gitConnections, record)]);
      return record;
    },
    delete: async () => {
      found();
      const kept = reader.list(tables.gitDeliveries, 'connection', [id], { limit: Infinity });
      await context.commit([
        take(tables.gitConnections, id),
        ...removeAll(tables.gitDeliveries, kept),
      ]);
      return true;
    },
    deliver: ({ pushes }) => {
      deliveries.take(found(), pushes);
      return true;
    },
    wake: () => {
      deliveries.handOn();
      return true;
    },
  };
}

function newRecord(
  { clock, secrets, fetch, webhookKey }: GitParts,
  { id, teamId }: Owned,
  input: NewConnection,
): GitConnectionRecord {
  const { token, webhookSecret, ...checked } = checkConnection(input, fetch);
  return {
    ...{ id, teamId, ...checked },
    tokenSealed: token === null ? null : secrets.seal(token, tokenContext(id)),
    secretSealed:
      webhookSecret === null ? null : secrets.seal(webhookSecret, webhookSecretContext(id)),
    hookHash: webhookHash(webhookToken(webhookKey, id)),
    createdAtMs: clock.now(),
  };
}

function newGithubRecord(
  { clock, secrets, webhookKey }: GitParts,
  { id, teamId }: Owned,
  { baseUrl, app }: NewGithubConnection,
): GitConnectionRecord {
  const { appId, htmlUrl, owner, privateKey, webhookSecret } = app;
  return {
    ...{ id, teamId, provider: 'github', label: shownText(owner, labelMax), baseUrl },
    ...{ username: null, tokenSealed: null },
    secretSealed: secrets.seal(webhookSecret, webhookSecretContext(id)),
    hookHash: webhookHash(webhookToken(webhookKey, id)),
    github: { appId, htmlUrl, keySealed: secrets.seal(privateKey, githubKeyContext(id)) },
    createdAtMs: clock.now(),
  };
}
