/**
 * Owns the deploy hook: POST with the app's URL token and a caller's API token queues a deployment.
 *
 * 1. The checks run in this order: 401 no usable API token (a cookie does not count); 404 no such app, an
 *    app that the token does not reach, or a wrong URL token; 403 the token may not deploy the app; 403
 *    HOOK_DISABLED.
 * 2. The 200 is sent once the deployment is durable. The request does not wait for a build.
 * 3. The hook needs no body: a body is read and thrown away, up to a limit.
 */
import { hashHookToken, sameHash } from '../../actors/app/deploying/hook-token.ts';
import { appActor } from '../../actors/app/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { AppRecord } from '../../store/records/records.ts';
import type { Exchange, Route } from '../transport.ts';
import type { Callers } from '../credentials.ts';
import { permittedApp, type ResourceRights } from '../resources.ts';

export interface DeployHookOptions extends ResourceRights {
  actors: Actors;
  callers: Pick<Callers, 'bearer'>;
}

/** Webhook senders put at most this much into a body. */
const bodyMaxBytes = 25 * 1024 * 1024;

export function deployHookRoutes(options: DeployHookOptions): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/apps/:id/deploy-hook/:token',
      audit: 'deploy_hook',
      handle: (exchange) => queueDeployment(options, exchange),
    },
  ];
}

async function queueDeployment(options: DeployHookOptions, exchange: Exchange): Promise<void> {
  const tokenHash = hashHookToken(exchange.param('token'));
  const app = admit(options, exchange, tokenHash);
  await passBody(exchange);
  const message = { type: 'hook', tokenHash } as const;
  const { deployment, url } = await options.actors.ask(appActor.at(app.id), message);
  // The deployment may have begun by now. This call queued it, so the answer says so.
  const answer = { deploymentId: deployment.id, appId: app.id, status: 'queued', url };
  exchange.json(200, answer, { 'Cache-Control': 'no-store' });
}

/** Returns the app when this caller may deploy it through this hook. */
function admit(
  options: DeployHookOptions,
  exchange: Exchange,
  tokenHash: string,
): Readonly<AppRecord> {
  const principal = options.callers.bearer(exchange);
  const app = permittedApp(options, principal, exchange.param('id'), null);
  if (!sameHash(app.hookHash, tokenHash)) throw new ServiceError('NOT_FOUND', 'No such hook.');
  options.authorize(options.reader, principal, 'deploy_apps', { kind: 'app', app });
  return app;
}

function passBody(exchange: Exchange): Promise<void> {
  return new Promise((resolve, reject) => {
    exchange.streamBody(bodyMaxBytes, {
      chunk: () => true,
      end: resolve,
      fail: (reason) => {
        // After an abort there is nobody to answer, and the promise stays pending.
        if (reason !== 'aborted') reject(reason);
      },
    });
  });
}
