/**
 * Owns what a new database may be. Every refusal is BAD_USER_INPUT with a sentence that names the
 * field and what is allowed.
 */
import { bad } from '../../app/settings/validate.ts';
import type { Engine, NameRule } from '../engines/engine.ts';

const passwordMin = 8;
const passwordMax = 128;

/** The name asked for, or the engine's own. */
export function checkedName(
  engine: Engine,
  field: 'databaseName' | 'username',
  given: string | null,
): string {
  const rule: NameRule | null = engine.rules[field];
  const name = given?.trim() ?? '';
  if (name === '') return engine.defaults[field];
  if (rule === null) throw bad(`${engine.label} has no ${field} to choose.`);
  if (!rule.pattern.test(name)) throw bad(`${field} ${rule.what}.`);
  if (rule.reserved.includes(name)) throw bad(`${field} is a name that ${engine.label} keeps.`);
  return name;
}

/** Of printable ASCII, so that it reads the same wherever it is typed; null: none was given. */
export function checkedPassword(given: string | null): string | null {
  if (given === null) return null;
  if (!/^[\x20-\x7e]*$/.test(given) || given !== given.trim()) {
    throw bad('password must be printable ASCII characters, with no space at its ends.');
  }
  if (given.length < passwordMin || given.length > passwordMax) {
    throw bad(`password must have ${String(passwordMin)} to ${String(passwordMax)} characters.`);
  }
  return given;
}

/** One of the engine's images; null: its default. */
export function checkedImageVersion(engine: Engine, given: string | null): string {
  const { versions } = engine.image;
  const version = given ?? versions[0] ?? '';
  if (versions.includes(version)) return version;
  throw bad(`There is no ${engine.label} ${version} here. There is: ${versions.join(', ')}.`);
}

/** As it may be asked for; null: none was. */
export function checkedVersion(given: string | null): string | null {
  const version = given?.trim() ?? '';
  if (version === '') return null;
  if (!/^\d{1,4}(\.\d{1,4}){0,3}$/.test(version)) {
    throw bad('version must be a number such as 18 or 18.4.');
  }
  return version;
}
