/**
 * Owns which values of an app's variables are secret, as its processes get them. A variable that refers
 * to a database has the value that the reference stands for now, and the passwords of that database
 * besides.
 *
 * 1. A reference to an address or a password is secret, even in a variable that is not marked secret. A
 *    variable that only refers to another part is not.
 * 2. The password in an address is a secret by itself: programs take addresses apart.
 */
import { referenceStart, replaceReferences } from '../../actors/database/settings/references.ts';
import type { OpenedDatabase } from './database-secrets.ts';
import { variableName } from './spans.ts';

/** A database of the app's team, open. */
export type FindDatabase = (id: string) => OpenedDatabase | undefined;

export interface Variable {
  readonly key: string;
  /** As it was written. */
  readonly value: string;
  readonly isSecret: boolean;
}

export interface Secret {
  /** What the mark says in its place. */
  readonly what: string;
  readonly value: string;
}

export interface AppSecrets {
  readonly secrets: readonly Secret[];
  /** Values that the app shows to everybody. */
  readonly shown: ReadonlySet<string>;
  /** The databases that its variables name. */
  readonly databaseIds: ReadonlySet<string>;
}

export function appSecrets(variables: readonly Variable[], find: FindDatabase): AppSecrets {
  const databaseIds = new Set<string>();
  const noted: FindDatabase = (id) => {
    databaseIds.add(id);
    return find(id);
  };
  const secrets = variables.flatMap((variable) => {
    const what = variableName(variable.key);
    return secretsOf(variable, noted).map((value) => ({ what, value }));
  });
  const open = variables.filter(({ isSecret }) => !isSecret);
  return { secrets, shown: new Set(open.map(({ value }) => value)), databaseIds };
}

const oneReference = /^\s*\$\{[^}]*\}\s*$/;
const address = /^\s*[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#:@]{0,256}):([^\s/?#@]{1,1024})@/i;

function secretsOf({ value, isSecret }: Variable, find: FindDatabase): readonly string[] {
  const plain = isSecret ? withPassword(value) : [];
  if (!value.includes(referenceStart)) return plain;
  const passwords: string[] = [];
  const resolve = (inContainers: boolean): string =>
    replaceReferences(value, (id, part, text) => {
      const database = find(id);
      const isCredential = part === 'url' || part === 'password';
      if (isCredential) passwords.push(...(database?.passwords ?? []));
      return database?.part(part, inContainers) ?? text;
    });
  try {
    const resolved = [resolve(false), resolve(true)];
    const tellsSecret = passwords.length > 0 || (isSecret && !oneReference.test(value));
    return tellsSecret ? [...resolved, ...passwords] : [];
  } catch {
    // No valid reference: the app gets the text as it is written, or does not start.
    return plain;
  }
}

/** A value, and the password in it where it is an address; not one that is the name of its user. */
function withPassword(value: string): string[] {
  const [, user, password] = address.exec(value) ?? [];
  if (password === undefined || password === user) return [value];
  return [value, password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // It was never encoded.
  }
}
