/**
 * Owns what may be the name of something, or of somebody: one line that people can see and that
 * shows as what it is. Names stand on pages where others decide by them, such as whose invite it is.
 *
 * 1. Any script and emoji, with the joiners that they need.
 * 2. No controls, line breaks or halves of characters; nothing that turns the text around it; and
 *    something visible.
 */
const nameMax = 100;
// What embeds, overrides or isolates a direction of writing; mere marks of one stay.
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;
const everyUnfit = new RegExp(unfit, 'gu');
const visible = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}]/u;

/** Whether a text without spaces around it is a name of 1 to 100 characters. */
export function isName(text: string): boolean {
  // A character is at most two units; the first look spares counting a megabyte.
  if (text.length > nameMax * 2 || Array.from(text).length > nameMax) return false;
  return !unfit.test(text) && visible.test(text);
}

/**
 * What a stranger wrote, made fit to be shown or logged: its first `max` characters (UTF-16 units),
 * without those that a name must not have. '' where nothing visible is left.
 */
export function shownText(text: string, max: number): string {
  const shown = text.slice(0, max).replace(everyUnfit, '').trim();
  return visible.test(shown) ? shown : '';
}
