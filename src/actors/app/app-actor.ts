/** Owns the `app` actor: one table of handlers, from the files beside this one. */
import { Moves } from '../move/moves.ts';
import { Restores } from '../restore/restores.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { AppCore } from './core.ts';
import type { DepsAt } from '../workload/core.ts';
import type { AppDeps } from './deps.ts';
import { DeploymentQueue } from './deploying/deployments.ts';
import { DeliveredPushes } from './deploying/delivered-pushes.ts';
import { hookHandlers } from './deploying/hook.ts';
import { instanceHandlers } from './running/instances.ts';
import { Lifecycle } from './lifecycle.ts';
import { moveHost } from './move-host.ts';
import { Previews } from './previews/previews.ts';
import { shownBranchHandlers, withoutSettings } from './previews/shown-branch.ts';
import { appActor, type AppProtocol } from './protocol.ts';
import { settingsHandlers } from './settings/settings.ts';
import { uploadHandlers } from './deploying/uploads.ts';
import { variableHandlers } from './settings/variables.ts';

// The mailbox must hold a storm of hook calls for one app; each call takes microseconds.
const mailboxMax = 4096;

export function appDefinition(depsAt: DepsAt<AppDeps>): ActorDefinition<AppProtocol> {
  return { kind: appActor, mailboxMax, activate: (context) => activate(context, depsAt) };
}

function activate(context: ActorContext<AppProtocol>, depsAt: DepsAt<AppDeps>): Actor<AppProtocol> {
  const core = new AppCore(context, depsAt);
  const queue = new DeploymentQueue(core, () => lifecycle.workEnded());
  const previews = new Previews(core);
  const lifecycle = new Lifecycle(core, queue, previews);
  const restores = new Restores(core, lifecycle.restoreHost);
  const moves = new Moves(core, moveHost(core, lifecycle.restoreHost));
  if (core.record !== null) {
    restores.resume();
    moves.resume();
    void context.report(() => lifecycle.resume());
    previews.resume();
  }
  return withoutSettings(core, {
    ...settingsHandlers(core, () => previews.follow()),
    ...variableHandlers(core),
    ...hookHandlers(core, queue),
    ...uploadHandlers(core, queue),
    ...new DeliveredPushes(core, queue, previews).handlers,
    ...previews.handlers,
    ...shownBranchHandlers(core, queue),
    ...queue.handlers,
    ...lifecycle.handlers,
    ...restores.handlers,
    ...moves.handlers,
    ...instanceHandlers(core, () => lifecycle.ensureRunning()),
  });
}
