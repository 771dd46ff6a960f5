/** Owns the tools for variables. No value is ever read: a list shows keys and masks. */
import * as z from 'zod';
import { toolInput } from '../input.ts';
import { appArgument, withAppId } from './app-argument.ts';
import type { DocumentTool } from './document-tool.ts';

const keyArgument = z.string().min(1).max(200);
const variable = 'key masked isSecret targets updatedAt';

export const envTools: readonly DocumentTool[] = [
  {
    name: 'list_env',
    description: 'Variables of an app; every value is masked.',
    group: 'env',
    effect: 'reads',
    needs: 'manage_env',
    input: toolInput({ appId: appArgument }),
    document: `query ($appId: ID!) { env(appId: $appId) { ${variable} } }`,
    variables: withAppId('appId'),
  },
  {
    name: 'set_env',
    description: 'Set a variable; takes effect with the next deployment or restart.',
    group: 'env',
    effect: 'changes',
    idempotent: true,
    needs: 'manage_env',
    input: toolInput({
      appId: appArgument,
      key: keyArgument,
      value: z.string().max(65_536),
      isSecret: z.boolean().default(true),
      targets: z.array(z.enum(['production', 'preview'])).optional(),
    }),
    document: `mutation ($appId: ID!, $entries: [EnvEntryInput!]!) {
      upsertEnv(appId: $appId, entries: $entries) { ${variable} } }`,
    variables: async (args, call) => {
      const { key, value, isSecret, targets } = args;
      const { appId } = await withAppId('appId')(args, call);
      return { appId, entries: [{ key, value, isSecret, targets }] };
    },
  },
  {
    name: 'delete_env',
    description: 'Delete a variable; false when there was none.',
    group: 'env',
    effect: 'destroys',
    idempotent: true,
    needs: 'manage_env',
    input: toolInput({ appId: appArgument, key: keyArgument }),
    document: 'mutation ($appId: ID!, $key: String!) { deleteEnv(appId: $appId, key: $key) }',
    variables: withAppId('appId'),
  },
];
