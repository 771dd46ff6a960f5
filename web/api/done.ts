/** Owns mutations whose failure is to be thrown, as dialogs that wait for them expect. */
import type { OperationResult } from '@urql/core';

/** The data of an answer. Throws what went wrong. */
export async function done<Data>(answer: Promise<OperationResult<Data>>): Promise<Data> {
  const { data, error } = await answer;
  if (error) throw error;
  if (data === undefined) throw new Error('The server answered without data.');
  return data;
}
