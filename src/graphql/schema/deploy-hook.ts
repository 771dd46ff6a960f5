/** Owns the management of an app's deploy hook; the hook itself is a transport of its own. */
import { appActor } from '../../actors/app/protocol.ts';
import { requireApp, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import type { addApps } from './apps.ts';
import { type Builder, secret } from './builder.ts';
import { publicUrlOf } from './instance.ts';

export function addDeployHook(builder: Builder, { app }: Pick<ReturnType<typeof addApps>, 'app'>) {
  builder.mutationFields((t) => ({
    revealAppDeployHook: t.string({
      ...secret,
      description: 'configure_apps. The full URL.',
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const record = requireApp(context, id, 'configure_apps');
        const { token } = await writeSide(context).actors.ask(appActor.at(record.id), {
          type: 'hook-reveal',
        });
        return hookUrl(context, record.id, token);
      },
    }),
    rotateAppDeployHook: t.string({
      ...secret,
      description: 'configure_apps. Makes a new URL; the old one is dead at once.',
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const record = requireApp(context, id, 'configure_apps');
        const { token } = await writeSide(context).actors.ask(appActor.at(record.id), {
          type: 'hook-rotate',
        });
        return hookUrl(context, record.id, token);
      },
    }),
    setAppDeployHookEnabled: t.field({
      type: app,
      description: 'configure_apps.',
      args: { id: t.arg.id({ required: true }), enabled: t.arg.boolean({ required: true }) },
      resolve: (_root, { id, enabled }, context) => {
        const record = requireApp(context, id, 'configure_apps');
        return writeSide(context).actors.ask(appActor.at(record.id), {
          type: 'hook-enable',
          enabled,
        });
      },
    }),
  }));
}

function hookUrl(context: GraphContext, appId: string, token: string): string {
  return `${publicUrlOf(context.read)}/api/apps/${appId}/deploy-hook/${token}`;
}
