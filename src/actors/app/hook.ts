/**
 * Owns the deploy hook of an app: its URL token and whether it is on.
 *
 * 1. The token is stored hashed, to compare, and sealed, to reveal; never in clear.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';
import type { AppRecord } from '../../store/records.ts';
import type { AppCore } from './core.ts';
import type { SecretBox } from './deps.ts';
import type { DeploymentQueue } from './deployments.ts';
import type { Handlers } from './internal.ts';

export function hookHandlers(
  core: AppCore,
  queue: DeploymentQueue,
): Handlers<'hook' | 'hook-reveal' | 'hook-rotate' | 'hook-enable'> {
  const { deps } = core;
  return {
    hook: ({ tokenHash }) => {
      const app = core.require();
      if (!sameHash(app.hookHash, tokenHash)) throw new ServiceError('NOT_FOUND', 'No such hook.');
      if (!app.deployHookEnabled) {
        throw new ServiceError('HOOK_DISABLED', 'The deploy hook of this app is switched off.');
      }
      const deployment = queue.request({ trigger: 'deploy_hook' });
      return { deployment, url: deps.options.urlOf(app.slug) };
    },
    'hook-reveal': () => {
      const app = core.require();
      return { token: deps.secrets.open(app.hookSealed, contextOf(app.id)) };
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
  };
}

export function newHookToken(
  secrets: SecretBox,
  appId: string,
): { token: string } & Pick<AppRecord, 'hookHash' | 'hookSealed'> {
  const token = randomBytes(32).toString('base64url');
  return {
    token,
    hookHash: hashHookToken(token),
    hookSealed: secrets.seal(token, contextOf(appId)),
  };
}

/** SHA-256 in hex, as `hook` expects it. */
export function hashHookToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function sameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && left.length > 0 && timingSafeEqual(left, right);
}

function contextOf(appId: string): string {
  return `hook:${appId}`;
}
