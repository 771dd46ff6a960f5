/**
 * Owns values that are secret because of their name: `DB_PASSWORD=…` in a dump, `"apiKey": "…"` in a
 * document, `?access_token=…` in an address, `X-Auth-Token: …` in a request.
 *
 * 1. Prose stays. A name only counts before an assignment or a quoted value.
 * 2. Values that are no secret, such as `${TOKEN}`, `null` or `****`, stay.
 * 3. A rule looks at `reach` characters around a name at most, or takes out what it has passed.
 */
import type { Span } from './spans.ts';
import { looksRandom } from './token-shapes.ts';

export const assignmentWords = [
  ...['secret', 'passw', 'passphrase', 'token', 'api_key', 'apikey', 'api-key', 'private'],
  ...['access_key', 'access-key', 'accesskey', 'accountkey', 'credential', 'signature'],
  ...['_key', '_pass', '_pwd', '_auth'],
];

const nameOf =
  /(?:secrets?(?:[_-]?access)?(?:[_-]?key)?(?:_base)?|passwords?|passwd|passphrase|tokens?|api[_-]?keys?|private[_-]?key|access[_-]?key(?![_-]?id)|accountkey|credentials?|signature|_key|_pass|_pwd|_auth)(?:_?\d{1,3}|_b(?:ase)?64|_old|_new|_previous)?(?![0-9A-Za-z_])/iy;
/** The word before `_KEY` that makes it a secret; a `CACHE_KEY` is none. */
const secretKeys =
  /(?:encryption|signing|master|jwt|app|auth|session|deploy|ssh|role|account|license|service|cookie|hmac|crypto|anon|admin|publishable)$/i;
/** The words before a token that only says where a list goes on. */
const harmless = /(?:next|page|continuation|cursor|start)[_-]?$/i;
const operator = /(\\*["'])?\s{0,4}(=>|[:=])\s{0,4}(\\*["'`])?/y;
const dumped = /(?:[^\s"'`\\]|\\(?![nrt"'`\\]))+/y;
const parameter = /[^\s&;,#"'`<>()\\]+/y;
const digits = /\d{4,}/y;
const header = /[^\s"'`\\,;]{8,}/y;
const noValue =
  /^(?:true|false|null|none|nil|undefined|yes|no|on|off|unset|empty|missing|required|invalid|expired|\d{1,5}|[*•x.…-]+|<[^>]*>?|[$%]\{?\{?[A-Za-z_][\w.]*\}{0,2}.?|\{\{.*|process\.env\b.*|\[object.*)$/i;
const reach = 64;
const quotedMax = 4_096;

interface Name {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly isUpper: boolean;
}

interface Assigned {
  /** Where the operator and what opens the value end. */
  readonly at: number;
  readonly sign: string;
  readonly keyQuote: string | undefined;
  readonly quote: string | undefined;
  readonly isTight: boolean;
}

/** The secret value behind a name whose word begins at `at`. */
export function assignedSecret(text: string, at: number): Span | null {
  const name = nameAt(text, at);
  const assigned = name && assignedAt(text, name.end);
  if (!name || !assigned) return null;
  const end =
    assigned.quote === undefined ? bareEnd(text, name, assigned) : quotedEnd(text, name, assigned);
  if (end <= assigned.at) return null;
  if (!isSecretValue(text.slice(assigned.at, end))) return null;
  return { start: assigned.at, end, what: kindOf(name.text) };
}

/** Whether the value under such a key of a JSON object is secret. */
export function isSecretKey(key: string): boolean {
  return (
    /(?:secret|password|passwd|passphrase|token|api_?key|private_?key|access_?key|authorization|cookie)$/i.test(
      key,
    ) && !/(?:next|page|continuation|cursor|start)_?token$/i.test(key)
  );
}

/** Whether a value under the name of a secret may be one. */
export function isSecretValue(value: string): boolean {
  return value.length > reach || (value !== '' && !noValue.test(value));
}

/** What a secret of such a name is called. */
export function kindOf(name: string): 'password' | 'token' | 'secret' {
  if (/pass|pwd/i.test(name)) return 'password';
  return /token/i.test(name) ? 'token' : 'secret';
}

function nameAt(text: string, at: number): Name | null {
  nameOf.lastIndex = at;
  const word = nameOf.exec(text)?.[0];
  if (word === undefined) return null;
  const before = text.slice(Math.max(0, at - 16), at);
  if (/^_key/i.test(word) && !secretKeys.test(before)) return null;
  if (/^token/i.test(word) && harmless.test(before)) return null;
  const isUpper = word === word.toUpperCase() && !/[a-z]$/.test(before);
  return { start: at, end: at + word.length, text: word, isUpper };
}

function assignedAt(text: string, at: number): Assigned | null {
  operator.lastIndex = at;
  const match = operator.exec(text);
  if (match === null) return null;
  const [whole, keyQuote, sign = '', quote] = match;
  const isTight = whole.length === sign.length + (keyQuote ?? '').length + (quote ?? '').length;
  return { at: at + whole.length, sign, keyQuote, quote, isTight };
}

/** Where a quoted value ends: before the quote that closes it, escaped as often as the first. */
function quotedEnd(text: string, name: Name, { at, quote = '', keyQuote }: Assigned): number {
  if (/^signature$/i.test(name.text)) return -1;
  const mark = quote.slice(-1);
  const depth = quote.length - 1;
  const limit = Math.min(text.length, at + quotedMax);
  let end = at;
  for (let escapes = 0; end < limit; end++) {
    const char = text.charAt(end);
    if (char === '\\') escapes++;
    else if (char === mark && closes(escapes, depth))
      return checked(end - Math.min(depth, escapes));
    else if (char === '\n') break;
    else escapes = 0;
  }
  // Cut off: what is there is a part of it.
  return checked(end);

  function checked(found: number): number {
    const isData = keyQuote !== undefined || name.isUpper;
    return isData || (found - at >= 3 && !/\s/.test(text.slice(at, found))) ? found : -1;
  }
}

/** Whether a quote after so many backslashes ends a value that began after `depth` of them. */
function closes(escapes: number, depth: number): boolean {
  return depth === 0 ? escapes % 2 === 0 : escapes <= depth;
}

function bareEnd(text: string, name: Name, assigned: Assigned): number {
  const { at, sign, keyQuote, isTight } = assigned;
  const isPassword = /^_?p(?:ass|wd)/i.test(name.text);
  if (keyQuote !== undefined) return isPassword ? endOf(digits, text, at) : -1;
  const start = nameStart(text, name.start);
  const before = text.charAt(start - 1);
  if (sign === '=' && isTight) {
    if (before === '?' || before === '&') return endOf(parameter, text, at);
    if (/^signature$/i.test(name.text)) return -1;
    if (name.isUpper) return endOf(dumped, text, at);
    // As in the connection strings of libpq and ADO; not as in code.
    const end = isPassword ? endOf(parameter, text, at) : -1;
    return end > 0 && before !== '$' && text.charAt(end) !== '(' ? end : -1;
  }
  if (sign !== ':') return -1;
  // In a file of YAML a password has a small name as often as not.
  if ((name.isUpper || isPassword) && startsLine(text, start)) {
    const end = endOf(dumped, text, at);
    return end < 0 || /^[^\S\n]*(?:\n|$)/.test(text.slice(end, end + reach)) ? end : -1;
  }
  const isHeader = text.charAt(name.start - 1) === '-' || name.text.includes('-');
  const end = isHeader ? endOf(header, text, at) : -1;
  return end > 0 && looksRandom(text.slice(at, end)) ? end : -1;
}

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  return found === null ? -1 : at + found[0].length;
}

/** Where a name begins that ends with a word at `at`. */
function nameStart(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < reach && /[0-9A-Za-z_.-]/.test(text.charAt(start - 1))) start--;
  return start;
}

/** As a key of YAML does: behind blanks, and the dash of a list. */
function startsLine(text: string, at: number): boolean {
  const line = text.slice(Math.max(0, at - reach), at);
  return /(?:^|\n)[ \t]*(?:- )?$/.test(line) && (at <= reach || line.includes('\n'));
}
