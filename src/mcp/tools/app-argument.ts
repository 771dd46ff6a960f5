/** Owns the argument that names an app: an id, or a slug, which is looked up as the caller. */
import * as z from 'zod';
import { ServiceError } from '../../lib/errors.ts';
import type { ToolArguments, ToolCall } from '../contract.ts';

export const appArgument = z.string().min(1).max(100).describe('App id or slug.');

/** The id behind `appId`. Throws NOT_FOUND for a slug of no app that the caller sees. */
export function appIdOf(args: ToolArguments, call: ToolCall): string | Promise<string> {
  const named = String(args['appId']);
  return named.startsWith('app_') ? named : idOfSlug(named, call);
}

async function idOfSlug(slug: string, call: ToolCall): Promise<string> {
  const { dataJson } = await call.graphql('query ($slug: String) { app(slug: $slug) { id } }', {
    slug,
  });
  const data = JSON.parse(dataJson) as { app?: { id: string } | null } | null;
  if (!data?.app) throw new ServiceError('NOT_FOUND', 'There is no such app here; see list_apps.');
  return data.app.id;
}

/** Variables with the id of the app under a name, and the rest as given. */
export function withAppId(name = 'id') {
  return (args: ToolArguments, call: ToolCall) => {
    const rest = without(args, 'team', 'appId');
    const id = appIdOf(args, call);
    if (id instanceof Promise) return id.then((found) => ({ ...rest, [name]: found }));
    return { ...rest, [name]: id };
  };
}

/** The id among the arguments, where it is one and no slug. */
export function appIdIn({ appId }: ToolArguments): string | undefined {
  return typeof appId === 'string' && appId.startsWith('app_') ? appId : undefined;
}

/** The arguments but for some of them. */
export function without(args: ToolArguments, ...names: string[]): ToolArguments {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)));
}
