/**
 * Owns the secrets that are known by their shape: tokens of ours and of others, private keys, links
 * that let in whoever has them, credentials in headers and addresses.
 *
 * 1. A rule looks at one place, where its word stands, and goes over what does not match only as far
 *    as a bound or a character that starts no other try: the work stays linear.
 */
import type { Kind, Span } from './spans.ts';

/** What is to be taken out at a place, null where it is nothing. It checks the whole word itself. */
export type Rule = (text: string, at: number) => Span | null;

interface Shape {
  /** It begins with one of these, whatever the case. The first four characters lead to the rule. */
  readonly words: readonly string[];
  readonly rule: Rule;
}

/** The first group of `pattern` (sticky), or all of it; `judge` looks at what it is. */
function matching(pattern: RegExp, what: Kind, judge?: (found: string) => boolean): Rule {
  return (text, at) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) return null;
    const found = match[1] ?? match[0];
    if (judge !== undefined && !judge(found)) return null;
    const end = at + match[0].length;
    return { start: end - found.length, end, what };
  };
}

function shape(words: string, pattern: RegExp, what: Kind, judge?: (found: string) => boolean) {
  return { words: words.split(' '), rule: matching(pattern, what, judge) };
}

export const tokenShapes: readonly Shape[] = [
  shape('gwy_ gwr_', /gw[yr]_[0-9A-Za-z]{16,}/y, 'api token'),
  shape('ghp_ gho_ ghu_ ghs_ ghr_', /gh[pousr]_[0-9A-Za-z]{20,}/y, 'token'),
  shape('github_pat_', /github_pat_[0-9A-Za-z_]{20,}/y, 'token'),
  shape(
    'glpat- gloas- gldt- glrt- glcbt- glptt- glft- glsoat- glagent-',
    /gl(?:pat|oas|dt|rt|cbt|ptt|ft|soat|agent)-[0-9A-Za-z_.-]{16,}/y,
    'token',
  ),
  shape('npm_', /npm_[0-9A-Za-z]{30,}/y, 'token'),
  shape('pypi- dckr_pat_', /(?:pypi-|dckr_pat_)[0-9A-Za-z_-]{16,}/y, 'token'),
  shape(
    'xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe.',
    /(?:xox[a-z][-.]|xapp-)[0-9A-Za-z.-]{10,}/y,
    'token',
  ),
  shape(
    'sk_live_ rk_live_ sk_test_ rk_test_ whsec_',
    /(?:[rs]k_(?:live|test)|whsec)_[0-9A-Za-z+/=]{10,}/y,
    'token',
  ),
  shape('akia asia abia acca', /A(?:KI|SI|BI|CC)A[0-9A-Z]{16}(?![0-9A-Za-z])/y, 'token'),
  shape('aiza', /AIza[0-9A-Za-z_-]{30,}/y, 'token'),
  shape('ya29.', /ya29\.[0-9A-Za-z_.-]{20,}/y, 'token'),
  shape('gocspx-', /GOCSPX-[0-9A-Za-z_-]{20,}/y, 'secret'),
  shape('dop_v1_', /dop_v1_[0-9a-f]{32,}/y, 'token'),
  shape('shpat_ shpss_', /shp(?:at|ss)_[0-9A-Fa-f]{30,}/y, 'token'),
  shape('tskey-', /tskey-[0-9A-Za-z-]{16,}/y, 'token'),
  shape('age-secret-key-1', /AGE-SECRET-KEY-1[0-9A-Z]{20,}/iy, 'private key'),
  // The beginnings of `{"alg`, `{"typ`, `{"kid`, `{"enc`, `{"cty`, `{"x5t`, `{"jku`, `{"zip`, …
  {
    words: 'eyjh eyj0 eyjr eyjl eyjj eyj4 eyjq eyj6 eyji eyj2 ewog'.split(' '),
    rule: startingWord(
      matching(/e[yw][0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{4,}(?:\.[0-9A-Za-z_-]*){1,3}/y, 'token'),
    ),
  },
  // Words such as `task-…` and `disk-…` end in it, too.
  {
    words: Array.from('0123456789abcdefghijklmnopqrstuvwxyz_-', (next) => `sk-${next}`),
    rule: startingWord(matching(/sk-[0-9A-Za-z_-]{20,}/y, 'token', looksRandom)),
  },
  { words: ['-----begin'], rule: privateKey },
  shape('deploy-hook', /deploy-hook\\*\/([0-9A-Za-z_-]{8,})/iy, 'hook token'),
  shape('webhook', /webhooks?(?:\\*\/\d{5,40})?\\*\/([0-9A-Za-z_-]{20,})/iy, 'hook token'),
  shape(
    'hooks.slack.com',
    /hooks\.slack\.com\\*\/(?:services|workflows|triggers)\\*\/([0-9A-Za-z_/\\-]{10,})/iy,
    'hook token',
  ),
  shape('invite reset', /(?:invite|reset)\\*\/([0-9A-Za-z_-]{32,})/y, 'link token'),
  shape('setup?code=', /setup\?code=([0-9A-Za-z-]{8,})/y, 'link token'),
  shape('service.', /service\.(?:session_token|two_factor)=([^\s;,"'\\]{8,})/y, 'cookie'),
  shape(
    'cookie',
    /cookie(?:\\*["'])?\s{0,4}:\s{0,4}(?:\\*["'])?([\w.$!#%&*+^`|~-]{1,128}=[^\r\n"'\\]+)/iy,
    'cookie',
  ),
  shape(
    'authorization',
    /authorization(?:\\*["'])?\s{0,4}[:=]\s{0,4}(?:\\*["'])?(?:bearer|basic|digest|negotiate|apikey)\s{1,4}([^\s"'\\]{4,})/iy,
    'authorization',
  ),
  shape(
    'authorization',
    /authorization(?:\\*["'])?\s{0,4}[:=]\s{0,4}(?:\\*["'])?(?:token\s{1,4})?([0-9A-Za-z._~+/=-]{16,})/iy,
    'authorization',
    looksRandom,
  ),
  shape('bearer', /bearer\s{1,4}([0-9A-Za-z._~+/=-]{12,})/iy, 'authorization', looksRandom),
  shape('basic', /basic\s{1,4}([0-9A-Za-z+/]{8,4096}={0,2})/iy, 'authorization', isPair),
];

const addresses = [
  // As far as an authority goes, the last @ ends the password; slashes may be escaped as in JSON.
  /:(?:\\*\/){2}[^\s/?#@:"'<>[\\]{0,256}:([^\s/?#"'<>]+)@/g,
  // A token in the place of the user.
  /:(?:\\*\/){2}([0-9A-Za-z_-]{20,256})@/g,
];

/** Up to where a password of an address begins. */
const toPassword = /:(?:\\*\/){2}[^\s/?#@:"'<>[\\]{0,256}:/g;
const port = /\d{1,5}\\*[/?#]/y;
/** As `connectionStringMasked` shows a password. */
const mask = /^[•*]+$/;
const passwordMax = 256;

/** Credentials in addresses: user and host stay. Stops once there are more than `spansMax`. */
export function findAddresses(text: string, spans: Span[], spansMax = Infinity): void {
  if (!text.includes('@') || !/:\\*\//.test(text)) return;
  for (const pattern of addresses) {
    for (const match of text.matchAll(pattern)) {
      const [whole, password = ''] = match;
      if (mask.test(password)) continue;
      const end = match.index + whole.length - 1;
      spans.push({ start: end - password.length, end, what: 'password' });
      if (spans.length > spansMax) return;
    }
  }
  findSlashed(text, spans, spansMax);
}

/** A password with a slash in it, which is no port. Each stretch is gone over once for all of them. */
function findSlashed(text: string, spans: Span[], spansMax: number): void {
  const stop = /[\s"'<>@]/g;
  let end = -1;
  for (const match of text.matchAll(toPassword)) {
    const start = match.index + match[0].length;
    if (end < start) {
      stop.lastIndex = start;
      end = stop.exec(text)?.index ?? text.length;
    }
    if (text[end] !== '@' || end === start || end - start > passwordMax) continue;
    if (mask.test(text.slice(start, end))) continue;
    port.lastIndex = start;
    if (port.test(text)) continue;
    spans.push({ start, end, what: 'password' });
    if (spans.length > spansMax) return;
  }
}

/** Digits and letters of which not all are of one case, or many digits: hardly a word of a language. */
export function looksRandom(text: string): boolean {
  const digits = text.length - text.replace(/\d/g, '').length;
  return digits > 0 && (digits >= 4 || (/[a-z]/.test(text) && /[A-Z]/.test(text)));
}

/** Whether it is base64 of `user:password`. */
function isPair(encoded: string): boolean {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  return text.includes(':') && !/[\u0000-\u001f\u007f\ufffd]/.test(text);
}

/** Only where no other word goes on: behind an escape, such as a colour or `\n` in JSON, it begins. */
function startingWord(rule: Rule): Rule {
  return (text, at) => (startsAt(text, at) ? rule(text, at) : null);
}

function startsAt(text: string, at: number): boolean {
  if (at === 0 || !/[0-9A-Za-z_-]/.test(text.charAt(at - 1))) return true;
  return /(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|(?:\u001b|\\u001b|\\x1b)\[[0-9;]{0,12}m)$/.test(
    text.slice(Math.max(0, at - 20), at),
  );
}

const keyStart = /-----BEGIN [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const keyBody = /(?:(?:[\s"',]|\\+[nrt])*[0-9A-Za-z+/=]{16,})*/y;
const keyCharsMax = 16_384;
const dashes = '-----';

/** The whole block; without its end, the lines that look like its body. */
function privateKey(text: string, at: number): Span | null {
  keyStart.lastIndex = at;
  const head = keyStart.exec(text);
  if (head === null) return null;
  const body = at + head[0].length;
  const span = { start: at, end: body, what: 'private key' };
  const next = text.indexOf(dashes, body);
  if (next >= 0 && next - body <= keyCharsMax && text.startsWith('-----END', next)) {
    const close = text.indexOf(dashes, next + dashes.length);
    span.end = close >= 0 && close - next <= 64 ? close + dashes.length : next + dashes.length;
    return span;
  }
  keyBody.lastIndex = body;
  span.end = body + (keyBody.exec(text)?.[0].length ?? 0);
  return span;
}
