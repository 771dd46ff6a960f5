/**
 * Owns the forms that a secret value takes in texts: as it is, as JSON, in addresses, in base64,
 * and line by line.
 *
 * 1. No form is shorter than `formCharsMin`.
 * 2. Words that everybody knows are no secrets, even when they are marked so. Variables are secret by
 *    default, and without `production` and `active` nobody could read an answer.
 */
import { capabilities } from '../../lib/capabilities.ts';

export const formCharsMin = 6;
const lineCharsMin = 8;
/** Values longer than this are looked for as they are and as JSON only. */
const encodedCharsMax = 4_096;

export interface Form {
  readonly text: string;
  /** It begins a base64 text. The characters behind it depend on what else was encoded. */
  readonly base64: boolean;
}

const plainWords: ReadonlySet<string> = new Set([
  ...capabilities,
  ...'production development staging preview testing default enabled disabled localhost'.split(' '),
  ...'127.0.0.1 0.0.0.0 verbose warning undefined stdout stderr system'.split(' '),
  ...'queued building active stopped starting failed canceled superseded'.split(' '),
  ...'provisioning running verifying success closed awaiting_approval'.split(' '),
  ...'dashboard deploy_hook git_push rollback server process docker'.split(' '),
  ...'UPLOAD COMPOSE POSTGRES MARIADB MONGODB CLICKHOUSE'.split(' '),
  ...'postgres postgresql mariadb mongodb clickhouse'.split(' '),
]);
const pemEdge = /^-----(?:BEGIN|END) [A-Z0-9 ]+-----$/;

/** Whether a value, or a line of one, is known to everybody. */
export function isPlain(value: string): boolean {
  return plainWords.has(value) || pemEdge.test(value);
}

/** All forms of a value, each once. A short value and one that is no secret have none. */
export function formsOf(value: string): Form[] {
  const forms = new Map<string, Form>();
  const add = (text: string, base64 = false): void => {
    if (text.length >= formCharsMin && !forms.has(text)) forms.set(text, { text, base64 });
  };
  const trimmed = value.trim();
  if (trimmed.length < formCharsMin || isPlain(trimmed)) return [];
  addWritten(trimmed, add);
  if (trimmed.length <= encodedCharsMax) {
    addEncoded(trimmed, add);
    if (trimmed !== value) addBase64(value, add);
  }
  if (trimmed.includes('\n')) {
    for (const part of trimmed.split('\n')) {
      const line = part.trim();
      if (line.length >= lineCharsMin && !isPlain(line)) addWritten(line, add);
    }
  }
  return [...forms.values()];
}

type Add = (text: string, base64?: boolean) => void;

/** As it is, in JSON, and in JSON within JSON. */
function addWritten(value: string, add: Add): void {
  add(value);
  const json = inJson(value);
  add(json);
  if (json !== value) add(inJson(json));
  // Some encoders escape slashes, or everything that is not ASCII.
  if (json.includes('/')) add(json.replaceAll('/', '\\/'));
  const ascii = inAscii(json);
  if (ascii !== json) add(ascii);
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function inAscii(json: string): string {
  return json.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function addEncoded(value: string, add: Add): void {
  addBase64(value, add);
  if (!value.isWellFormed()) return;
  const component = encodeURIComponent(value);
  if (component === value && !/[!'()*]/.test(value)) return;
  const strict = component.replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  for (const encoded of [component, strict, encodeURI(value)]) {
    for (const text of [encoded, encoded.replaceAll('%2F', '/'), encoded.replaceAll('%20', '+')]) {
      add(text);
      add(text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()));
    }
  }
}

/** Up to the last whole group of three bytes. What is encoded behind the value, such as a newline, only
 * changes the characters after it. */
function addBase64(value: string, add: Add): void {
  const bytes = Buffer.from(value, 'utf8');
  const whole = bytes.subarray(0, bytes.length - (bytes.length % 3));
  const text = whole.toString('base64');
  add(text, true);
  if (/[+/]/.test(text)) {
    add(whole.toString('base64url'), true);
    if (text.includes('/')) add(text.replaceAll('/', '\\/'), true);
  }
}
