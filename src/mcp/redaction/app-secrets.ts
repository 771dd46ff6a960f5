/**
 * Owns the secret values of one app, as its processes get them. A variable that refers to a database
 * has the value that the reference stands for now, and the passwords of that database besides.
 *
 * 1. A reference to an address or a password is secret, even in a variable that is not marked secret. A
 *    variable that only refers to another part is not.
 * 2. The password in an address is a secret by itself: programs take addresses apart.
 */
import {
  type ReferencePart,
  referenceStart,
  replaceReferences,
} from '../../actors/database/settings/references.ts';
import type { EnvRecord } from '../../store/records/records.ts';
import type { OpenedDatabase } from './database-secrets.ts';
import { KnownSecrets } from './known-secrets.ts';
import { variableName } from './spans.ts';

/** Opens a secret; null, or a throw, for one that cannot be opened. */
export type OpenSecret = (record: Readonly<EnvRecord>) => string | null;

/** A database of the app's team, open. */
export type FindDatabase = (id: string) => OpenedDatabase | undefined;

export interface Variable {
  /** As it was written. */
  readonly value: string;
  readonly isSecret: boolean;
}

export class AppSecrets {
  readonly known: KnownSecrets;
  readonly #find: FindDatabase;
  /** Variables with references, and the databases that each names. */
  readonly #referring = new Map<string, { variable: Variable; ids: ReadonlySet<string> }>();

  constructor(appId: string, find: FindDatabase) {
    this.known = new KnownSecrets(appId);
    this.#find = find;
  }

  /** Sets a variable. Null: there is none, or it cannot be opened. */
  set(key: string, variable: Variable | null): void {
    const { values, ids } = variable === null ? nothing : this.#valuesOf(variable);
    if (variable === null || ids.size === 0) this.#referring.delete(key);
    else this.#referring.set(key, { variable, ids });
    this.known.set(key, variableName(key), values);
    if (variable?.isSecret === false) this.known.show(variable.value);
  }

  /** Sets the variables anew that refer to this database. Whether there are any. */
  refresh(databaseId: string): boolean {
    const touched = [...this.#referring].filter(([, { ids }]) => ids.has(databaseId));
    for (const [key, { variable }] of touched) this.set(key, variable);
    return touched.length > 0;
  }

  #valuesOf({ value, isSecret }: Variable): Values {
    const plain = isSecret ? withPassword(value) : [];
    if (!value.includes(referenceStart)) return { values: plain, ids: new Set() };
    const ids = new Set<string>();
    const passwords: string[] = [];
    const resolve = (inContainers: boolean): string =>
      replaceReferences(value, (id, part, text) => {
        const database = this.#find(id);
        ids.add(id);
        if (isSecretPart(part)) passwords.push(...(database?.passwords ?? []));
        return database?.part(part, inContainers) ?? text;
      });
    let resolved: string[];
    try {
      resolved = [resolve(false), resolve(true)];
    } catch {
      // No valid reference: the app gets the text as it is written, or does not start.
      return { values: plain, ids };
    }
    const tellsSecret = passwords.length > 0 || (isSecret && !isOneReference(value));
    return { values: tellsSecret ? [...resolved, ...passwords] : [], ids };
  }
}

interface Values {
  readonly values: readonly string[];
  readonly ids: ReadonlySet<string>;
}

const nothing: Values = { values: [], ids: new Set() };
const oneReference = /^\s*\$\{[^}]*\}\s*$/;
const address = /^\s*[a-z][a-z0-9+.-]{0,30}:\/\/([^\s/?#:@]{0,256}):([^\s/?#@]{1,1024})@/i;

function isSecretPart(part: ReferencePart): boolean {
  return part === 'url' || part === 'password';
}

function isOneReference(value: string): boolean {
  return oneReference.test(value);
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
