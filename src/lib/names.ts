/**
 * Owns what may be the name of a thing or a person: one visible line that cannot look like something
 * else. Names stand on pages where others decide by them, such as whose invite it is.
 *
 * 1. Any script and emoji, with the joiners that they need.
 * 2. No controls, line breaks or halves of characters; nothing that changes the direction of text
 *    around it; at least one visible character.
 */
import { ServiceError } from './errors.ts';

const nameMax = 100;
// What embeds, overrides or isolates a direction of writing; mere marks of one stay.
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;
const everyUnfit = new RegExp(unfit, 'gu');
const visible = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}]/u;

/** Whether a text without spaces around it is a name of 1 to 100 characters. */
export function isName(text: string): boolean {
  // A character has at most two units. The first check avoids counting a megabyte.
  if (text.length > nameMax * 2 || Array.from(text).length > nameMax) return false;
  return !unfit.test(text) && visible.test(text);
}

/** The name as it is stored; BAD_USER_INPUT with a sentence that begins with `what` it is. */
export function checkedName(given: string, what: string): string {
  const name = given.trim();
  if (isName(name)) return name;
  const rule = 'has 1 to 100 visible characters, on one line.';
  throw new ServiceError('BAD_USER_INPUT', `${what} ${rule}`);
}

/**
 * A stranger's text, made fit to be shown or logged: its first `max` UTF-16 units, without characters
 * that a name must not have. '' when nothing visible is left.
 */
export function shownText(text: string, max: number): string {
  const shown = text.slice(0, max).replace(everyUnfit, '').trim();
  return visible.test(shown) ? shown : '';
}
