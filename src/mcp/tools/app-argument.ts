/** Owns the argument that names an app: an id, or a slug, which is looked up as the caller. */
import * as z from 'zod';
import { ServiceError } from '../../lib/errors.ts';
import type { ToolArguments, ToolCall } from '../tool.ts';

export const appArgument = z.string().min(1).max(100).describe('App id or slug.');

export const noApp = 'There is no such app here; see list_apps, or name its team.';

/** The id behind `appId`. Throws NOT_FOUND for a slug of no app that the caller sees. */
export function appIdOf(args: ToolArguments, call: ToolCall): string | Promise<string> {
  const named = appNamedIn(args);
  return named.startsWith('app_') ? named : idOfSlug(named, call);
}

async function idOfSlug(slug: string, call: ToolCall): Promise<string> {
  const { dataJson } = await call.graphql('query ($slug: String) { app(slug: $slug) { id } }', {
    slug,
  });
  const data = JSON.parse(dataJson) as { app?: { id: string } | null } | null;
  if (!data?.app) throw new ServiceError('NOT_FOUND', noApp);
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

/** The id or slug in the argument. */
export function appNamedIn({ appId }: ToolArguments): string {
  return String(appId);
}

/** The arguments without these names. */
export function without(args: ToolArguments, ...names: string[]): ToolArguments {
  if (!names.some((name) => Object.hasOwn(args, name))) return args;
  return Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)));
}
