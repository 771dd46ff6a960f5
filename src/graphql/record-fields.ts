/**
 * Owns fields that read a record: their resolver is given the record and the settings of the instance
 * and nothing else, so that what is written of them holds for every caller.
 */
import type { GraphContext, GraphqlSettings } from './context.ts';

export type RecordResolver<R = unknown, V = unknown> = (record: R, settings: GraphqlSettings) => V;

/** The options of such a field: its resolver, and the mark by which compiled queries keep its text. */
export function ofRecord<R, V>(read: RecordResolver<R, V>) {
  return {
    extensions: { ofRecord: read },
    resolve: (record: R, _args: object, context: GraphContext): V =>
      read(record, context.read.settings),
  };
}
