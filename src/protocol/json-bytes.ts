/** Owns the characters that give JSON its structure, by their codes. */

export const quote = 0x22;
export const comma = 0x2c;
export const openBracket = 0x5b;
export const backslash = 0x5c;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
