/**
 * Owns forms over an app's settings.
 *
 * 1. What somebody has typed stays, whatever is fetched meanwhile: only fields that nobody touched follow the app.
 * 2. Saving sends the touched fields alone, so that two people who change different ones do not undo each other.
 * 3. When somebody else changes a field that is touched here, that is told before it is saved.
 */
import { useState } from 'react';
import { useMutation } from 'urql';
import { type ApiError, toApiError } from '../../../api/errors.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../../api/graphql.ts';
import { toast } from '../../../ui/toast.tsx';

export const AppSettings = graphql(`
  fragment AppSettings on App {
    id
    name
    slug
    source
    folderId
    autoDeploy
    previewBranches
    deployHookEnabled
    image
    compose
    capabilities
    git {
      connectionId
      repository
      branch
      path
      submodules
      watchPaths
    }
    build {
      buildCommand
      startCommand
      outputDir
      dockerfile
      healthPath
      nodeVersion
      port
    }
    resources {
      cpus
      memoryMb
      pids
      replicas
    }
    edge {
      maintenance
      maintenanceText
      accessLog
      maxBodyMb
      maxConnections
      idleSeconds
      totalSeconds
      hsts
    }
  }
`);

export type Settings = ResultOf<typeof AppSettings>;

const UpdateApp = graphql(
  `
    mutation UpdateApp(
      $id: ID!
      $name: String
      $folderId: ID
      $autoDeploy: Boolean
      $previewBranches: [String!]
      $image: String
      $compose: String
      $git: GitSourceInput
      $build: BuildConfigInput
      $resources: ResourcesInput
      $edge: EdgeSettingsInput
    ) {
      updateApp(
        id: $id
        name: $name
        folderId: $folderId
        autoDeploy: $autoDeploy
        previewBranches: $previewBranches
        image: $image
        compose: $compose
        git: $git
        build: $build
        resources: $resources
        edge: $edge
      ) {
        ...AppSettings
      }
    }
  `,
  [AppSettings],
);

export type Change = Omit<VariablesOf<typeof UpdateApp>, 'id'>;

interface SettingsForm<Values> {
  values: Values;
  set: <Key extends keyof Values>(key: Key, value: Values[Key]) => void;
  touched: ReadonlySet<keyof Values>;
  isDirty: boolean;
  /** A field that was touched here has another value meanwhile. */
  isContested: boolean;
  busy: boolean;
  error: ApiError | null;
  save: () => Promise<void>;
  reset: () => void;
}

/** `kept` is what the app has; `changeOf` makes the change of what was touched. Throws a sentence where it cannot. */
export function useSettingsForm<Values extends object>(
  id: string,
  kept: Values,
  changeOf: (values: Values, touched: ReadonlySet<keyof Values>) => Change,
): SettingsForm<Values> {
  const [edits, setEdits] = useState<Edits<Values>>({});
  const [{ fetching }, update] = useMutation(UpdateApp);
  const [error, setError] = useState<ApiError | null>(null);
  const keys = Object.keys(edits) as (keyof Values)[];
  const edited = Object.fromEntries(keys.map((key) => [key, edits[key]?.value]));
  const values = { ...kept, ...(edited as Partial<Values>) };
  const touched = new Set(keys.filter((key) => values[key] !== kept[key]));
  const save = async (): Promise<void> => {
    setError(null);
    const answer = await update({ id, ...changeOf(values, touched) });
    if (answer.error) return setError(toApiError(answer.error));
    // What was typed while it was being saved stays.
    setEdits((now) => without(now, values));
    toast('Saved.');
  };
  return {
    values,
    set: (key, value) =>
      setEdits(({ [key]: before, ...others }) => {
        const rest = others as Edits<Values>;
        if (value === kept[key]) return rest;
        return { ...rest, [key]: { value, instead: before?.instead ?? kept[key] } };
      }),
    touched,
    isDirty: touched.size > 0,
    isContested: [...touched].some((key) => edits[key]?.instead !== kept[key]),
    busy: fetching,
    error,
    save,
    reset: () => {
      setEdits({});
      setError(null);
    },
  };
}

/** What was typed, and what the app had when somebody began to type. */
type Edits<Values> = { [Key in keyof Values]?: { value: Values[Key]; instead: Values[Key] } };

function without<Values extends object>(edits: Edits<Values>, saved: Values): Edits<Values> {
  const left = (Object.keys(edits) as (keyof Values)[]).filter(
    (key) => edits[key]?.value !== saved[key],
  );
  return Object.fromEntries(left.map((key) => [key, edits[key]])) as Edits<Values>;
}

/** Of a field that may be empty: null for nothing. */
export function textOrNull(text: string): string | null {
  const trimmed = text.trim();
  return trimmed === '' ? null : trimmed;
}

/** Of a field for a number that may be empty; what is no number is said by the field itself. */
export function numberOrNull(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}
