/**
 * Owns the optional members of an access log line: the trace of the request, and what its transport noted.
 *
 * 1. Values are short and safe to show: no control characters, and none that reverse the text around them.
 * 2. An invalid `traceparent` is left out; the header's wins over the body's.
 * 3. A request without notes costs one look for the header.
 */
import { shownText } from '../lib/names.ts';
import { parseTraceparent, type TraceParent } from '../protocol/traceparent.ts';
import type { LineNotes } from './transport.ts';

/** The parts of a request that notes come from. */
export interface Noted {
  header(name: string): string;
  readonly notes: LineNotes | undefined;
}

const valueMax = 200;
// Most values look like this: methods, tools, names of programs.
const plain = /^[\w.:/-]+(?: [\w.:/-]+)*$/;
// The order of the names in the line, after the trace.
const names = ['rpc', 'tool', 'client'] as const;

/** The members to add to a request's line, each with its comma; '' for none. */
export function noteMembers(request: Noted): string {
  const { notes } = request;
  const header = request.header('traceparent');
  if (notes === undefined && header === '') return '';
  const trace = traceOf(header, notes);
  const members =
    trace === null ? '' : `"traceId":"${trace.traceId}","parentId":"${trace.parentId}",`;
  if (notes === undefined) return members;
  return (
    members + member('rpc', notes.rpc) + member('tool', notes.tool) + member('client', notes.client)
  );
}

/** The same members as an object. */
export function noteFields(request: Noted): Record<string, string> {
  const fields: Record<string, string> = {
    ...traceOf(request.header('traceparent'), request.notes),
  };
  for (const name of names) {
    const shown = shownText(request.notes?.[name] ?? '', valueMax);
    if (shown !== '') fields[name] = shown;
  }
  return fields;
}

function traceOf(header: string, notes: LineNotes | undefined): TraceParent | null {
  const fromHeader = header === '' ? null : parseTraceparent(header);
  if (fromHeader !== null) return fromHeader;
  const inBody = notes?.traceparent ?? '';
  return inBody === '' ? null : parseTraceparent(inBody);
}

function member(name: string, value: string | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (value.length <= valueMax && plain.test(value)) return `"${name}":"${value}",`;
  const shown = shownText(value, valueMax);
  return shown === '' ? '' : `"${name}":${JSON.stringify(shown)},`;
}
