/**
 * Owns the optional members of a line of the access log: the trace that the request belongs to, and
 * what its transport noted.
 *
 * 1. Values are short and safe to show: no control characters, none that reverse the text around them.
 * 2. An invalid `traceparent` is left out; the header's wins over the body's.
 * 3. A request without any of it costs one look for the header.
 */
import { shownText } from '../lib/names.ts';
import { parseTraceparent } from '../protocol/traceparent.ts';
import type { LineNotes } from './transport.ts';

/** The parts of a request that notes come from. */
export interface Noted {
  header(name: string): string;
  readonly notes: LineNotes | undefined;
}

const valueMax = 200;
// Most values look like this: methods, tools, names of programs.
const plain = /^[\w.:/-]+(?: [\w.:/-]+)*$/;
// Their order in the line, after the trace.
const names = ['rpc', 'tool', 'client'] as const;

/** The members to add to a request's line, each with its comma; '' for none. */
export function noteMembers(request: Noted): string {
  if (request.notes === undefined && request.header('traceparent') === '') return '';
  const members = JSON.stringify(noteFields(request)).slice(1, -1);
  return members === '' ? '' : `${members},`;
}

/** The same as an object. */
export function noteFields(request: Noted): Record<string, string> {
  const { notes } = request;
  const inHeader = parseTraceparent(request.header('traceparent'));
  const fields: Record<string, string> = {
    ...(inHeader ?? parseTraceparent(notes?.traceparent ?? '')),
  };
  for (const name of names) {
    const value = notes?.[name] ?? '';
    const isPlain = value.length <= valueMax && plain.test(value);
    const shown = isPlain ? value : shownText(value, valueMax);
    if (shown !== '') fields[name] = shown;
  }
  return fields;
}
