/**
 * Owns the `push` actor: it takes what people push to an app, and has the app's branch deployed.
 *
 * 1. A deployment is queued once git has stored what it is of. It is the app's actor that queues it.
 * 2. The file that arrived is gone when the push has an answer.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';

import { touches } from '../../git/deliveries/watched.ts';
import { gitFailed } from '../../git/git-failure.ts';
import type { GitPushes, Pushed } from '../../git/pushes/pushes.ts';
import type { SandboxOwner } from '../../git/repositories/repository.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, GitSource } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { appActor } from '../app/protocol.ts';
import { isPreviewed } from '../app/previews/previews.ts';
import { activeMax } from '../app/previews/surplus.ts';
import { takesPushes } from '../app/settings/git-source.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { pushActor, type PushOutcome, type PushProtocol } from './protocol.ts';

export interface PushParts {
  reader: Reader;
  pushes: GitPushes;
  clock: Clock;
  /** Where pushes arrive, in a folder for each app. */
  pushesRoot: string;
}

export function pushDefinition(parts: PushParts): ActorDefinition<PushProtocol> {
  return { kind: pushActor, activate: (context) => handlersOf(parts, context) };
}

function handlersOf(parts: PushParts, context: ActorContext<PushProtocol>): Actor<PushProtocol> {
  const { id } = context.ref;
  return {
    refs: () => {
      const { app } = pushedTo(parts.reader, id);
      return parts.pushes.refs(ownerOf(app), context.signal);
    },
    receive: async ({ pushId, untilMs }) => {
      const file = join(parts.pushesRoot, id, pushId);
      const late = AbortSignal.timeout(Math.max(0, untilMs - parts.clock.now()));
      try {
        return await receive(parts, context, file, late);
      } catch (error) {
        if (!late.aborted || context.signal.aborted) throw error;
        throw gitFailed('The push took too long here: it is not deployed.', error);
      } finally {
        await rm(file, { force: true });
      }
    },
  };
}

async function receive(
  { reader, pushes }: PushParts,
  context: ActorContext<PushProtocol>,
  file: string,
  late: AbortSignal,
): Promise<PushOutcome> {
  const { app, git } = pushedTo(reader, context.ref.id);
  const { branch } = git;
  const signal = AbortSignal.any([context.signal, late]);
  const received = await pushes.receive(ownerOf(app), file, branch, signal);
  const { report, sha, files } = received;
  late.throwIfAborted();
  const notes = await toldPreviews(context, othersShown(reader, app, received));
  const note = notes.length > 0 ? notes.join(' ') : null;
  const without = (why: string): PushOutcome => {
    return { report, deployment: null, note: [...notes, why].join(' ') };
  };
  if (sha === null) {
    if (note !== null) return { report, deployment: null, note };
    return without(`Only a push to ${branch} is deployed.`);
  }
  if (!app.autoDeploy) return without('The app is not deployed by itself: deploy it.');
  if (!touches(files, git.watchPaths ?? [])) {
    return without('It changes nothing that the app watches.');
  }
  const message = { type: 'redeploy', trigger: 'git_push', commitSha: sha, branch } as const;
  const deployment = await context.actors.ask(appActor.at(app.id), message);
  return { report, deployment, note };
}

/** What the app makes of its other branches, for people. */
async function toldPreviews(
  context: ActorContext<PushProtocol>,
  moved: Pushed['others'],
): Promise<string[]> {
  const notes: string[] = [];
  for (const { branch, sha: commitSha } of moved) {
    const message = { type: 'preview-push', branch, commitSha } as const;
    const preview = await context.actors.ask(appActor.at(context.ref.id), message);
    if (preview === null) continue;
    notes.push(
      commitSha === null ? `The preview of ${branch} is closed.` : `${branch} gets a preview.`,
    );
  }
  return notes;
}

/** Those that have a preview, and as many more as may have one. */
function othersShown(
  reader: Reader,
  app: Readonly<AppRecord>,
  { others }: Pushed,
): Pushed['others'] {
  const previews = reader.list(tables.previews, 'app', [app.id], { limit: Infinity });
  const known = new Set(previews.map(({ branch }) => branch));
  const fresh = others.filter(
    ({ branch, sha }) => sha !== null && !known.has(branch) && isPreviewed(app, branch),
  );
  return [...others.filter(({ branch }) => known.has(branch)), ...fresh.slice(0, activeMax)];
}

function pushedTo(reader: Reader, id: string): { app: Readonly<AppRecord>; git: GitSource } {
  const app = reader.get(tables.apps, id);
  if (app?.deletedAtMs !== null) throw new ServiceError('NOT_FOUND', 'No such app.');
  const { git } = app;
  if (git !== null && takesPushes(git) && app.previewOf === undefined) return { app, git };
  throw new ServiceError('CONFLICT', 'This app is not deployed from what is pushed here.');
}

function ownerOf({ id: appId, teamId }: Readonly<AppRecord>): SandboxOwner {
  return { job: `${appId}-push-${randomUUID().slice(0, 8)}`, appId, teamId };
}
