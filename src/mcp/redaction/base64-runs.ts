/**
 * Owns looking for long runs of the letters of base64: a text without one is looked at in a few places
 * only. Pure.
 */

const isLetter = new Uint8Array(128);
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/') {
  isLetter[letter.charCodeAt(0)] = 1;
}

/** Whether so many letters of base64, or more, stand in a row. */
export function hasBase64Run(text: string, letters: number): boolean {
  // The last place of a run that may still be one; it is looked at from its end.
  for (let last = letters - 1; last < text.length;) {
    let before = last;
    while (before > last - letters && isLetter[text.charCodeAt(before)] === 1) before--;
    if (before === last - letters) return true;
    last = before + letters;
  }
  return false;
}
