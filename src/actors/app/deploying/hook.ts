/** Owns the deploy hook of an app: whether it is on, and the token in its address. */
import { ServiceError } from '../../../lib/errors.ts';
import type { AppCore } from '../core.ts';
import type { DeploymentQueue } from './deployments.ts';
import { hookContext, newHookToken, sameHash } from './hook-token.ts';
import type { Handlers } from '../protocol.ts';

export function hookHandlers(core: AppCore, queue: DeploymentQueue) {
  const { deps } = core;
  return {
    hook: ({ tokenHash }) => {
      const app = core.require();
      if (!sameHash(app.hookHash, tokenHash)) throw new ServiceError('NOT_FOUND', 'No such hook.');
      if (!app.deployHookEnabled) {
        throw new ServiceError('HOOK_DISABLED', 'The deploy hook of this app is switched off.');
      }
      const deployment = queue.request({ trigger: 'deploy_hook' });
      return { deployment, url: deps.options.urlOf(app) };
    },
    'hook-reveal': () => {
      const app = core.require();
      return { token: deps.secrets.open(app.hookSealed, hookContext(app.id)) };
    },
    'hook-rotate': () => {
      const app = core.require();
      const { token, ...stored } = newHookToken(deps.secrets, app.id);
      core.save(stored);
      return { token };
    },
    'hook-enable': ({ enabled }) => {
      core.require();
      return core.save({ deployHookEnabled: enabled });
    },
  } satisfies Handlers;
}
