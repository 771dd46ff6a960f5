/**
 * Owns the settings and variables that come with a restored artifact. Whoever made the artifact may have
 * forged them, so they are taken as wishes of whoever restores.
 *
 * 1. Nothing is applied beyond the rights to configure the app and to manage its variables.
 * 2. Its team, folder, name, source and connection to a git host stay.
 * 3. A reference to a database that the app does not refer to already is left out: it would show a secret.
 * 4. What the app would refuse by hand is refused here, too; the data stays restored.
 */
import type { AppJson, AppJsonVariable } from '../../../backups/app-json.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { namedIn } from '../../database/settings/references.ts';
import type { RestoreRights } from '../../restore/protocol.ts';
import type { AppCore } from '../core.ts';
import { type AppPatch, appActor, type EnvEntry } from '../protocol.ts';

export async function applyRestored(
  core: AppCore,
  { settings, env }: AppJson,
  rights: RestoreRights,
  say: (line: string) => void,
): Promise<void> {
  const { actors } = core.context;
  const ref = appActor.at(core.id);
  if (rights.configure) {
    const patch = patchOf(core, settings);
    await tried(say, 'settings', () => actors.ask(ref, { type: 'update', patch }));
  } else say('The settings stay as they are: that needs configure_apps.');
  const entries = entriesOf(core, env, say);
  if (!rights.env) say('The variables stay as they are: that needs manage_env.');
  else if (entries.length > 0) {
    await tried(say, 'variables', () => actors.ask(ref, { type: 'env-upsert', entries }));
  }
}

async function tried(
  say: (line: string) => void,
  what: string,
  apply: () => Promise<unknown>,
): Promise<void> {
  try {
    await apply();
    say(`The ${what} are those of the artifact; they count from the next deployment or start on.`);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    say(`The ${what} stay as they are: ${error.message}`);
  }
}

function patchOf(core: AppCore, settings: AppJson['settings']): AppPatch {
  const { source, git } = core.require();
  const { build, resources, previewBranches, autoDeploy, edge } = settings;
  const patch: AppPatch = { build, resources, previewBranches, autoDeploy, ...(edge && { edge }) };
  // What an app of another source is made of says nothing to this one.
  if (settings.source !== source) return patch;
  if (source === 'IMAGE' && settings.image !== null) patch.image = settings.image;
  if (source === 'COMPOSE' && settings.compose !== null) patch.compose = settings.compose;
  if (source === 'GIT' && settings.git !== null) {
    const { watchPaths, submodules, ...place } = settings.git;
    patch.git = {
      ...place,
      connectionId: git?.connectionId ?? null,
      ...(watchPaths && { watchPaths }),
      ...(submodules && { submodules }),
    };
  }
  return patch;
}

function entriesOf(
  core: AppCore,
  env: readonly AppJsonVariable[],
  say: (line: string) => void,
): EnvEntry[] {
  const known = new Set(core.env.flatMap(({ refersTo }) => refersTo ?? []));
  return env.flatMap(({ key, value, isSecret, targets }) => {
    if (value === null) return [];
    if (namedIn(value).every((id) => known.has(id))) return [{ key, value, isSecret, targets }];
    say(`A variable is left out, since it refers to a database that the app does not use: ${key}`);
    return [];
  });
}
