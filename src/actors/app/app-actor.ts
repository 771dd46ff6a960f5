/** Owns the `app` actor: one handler table out of the concerns beside it. */
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { actorKind } from '../runtime/actor.ts';
import { AppCore } from './core.ts';
import type { AppDeps, AppParts } from './deps.ts';
import { DeploymentQueue } from './deploying/deployments.ts';
import { FreeUids } from '../workload/free-uids.ts';
import { hookHandlers } from './deploying/hook.ts';
import { instanceHandlers } from './running/instances.ts';
import type { AppMessages } from './internal.ts';
import { Lifecycle } from './lifecycle.ts';
import { appActor } from './protocol.ts';
import { settingsHandlers } from './settings/settings.ts';
import { uploadHandlers } from './deploying/uploads.ts';
import { variableHandlers } from './settings/variables.ts';

/** `appActor` with the messages it sends itself; outsiders use `appActor`. */
export const appActorInside = actorKind<AppMessages>(appActor.kind);

// A storm of hook calls for one app has to fit; each is answered in microseconds.
const mailboxMax = 4096;

export function appDefinition(deps: AppDeps): ActorDefinition<AppMessages> {
  const { reader, options } = deps;
  const parts = {
    ...deps,
    uids: new FreeUids({ reader, table: tables.apps, range: options.uids }),
  };
  return {
    kind: appActorInside,
    mailboxMax,
    activate: (context) => activate(context, parts),
  };
}

function activate(context: ActorContext<AppMessages>, deps: AppParts): Actor<AppMessages> {
  const core = new AppCore(context, deps);
  const queue = new DeploymentQueue(core, () => lifecycle.workEnded());
  const lifecycle = new Lifecycle(core, queue);
  if (core.record !== null) {
    void context.report(() => lifecycle.resume());
  }
  return {
    handlers: {
      ...settingsHandlers(core),
      ...variableHandlers(core),
      ...hookHandlers(core, queue),
      ...uploadHandlers(core, queue),
      ...queue.handlers,
      ...lifecycle.handlers,
      ...instanceHandlers(core, () => lifecycle.ensureRunning()),
    },
  };
}
