/** Owns how work on an app or a database fails: with a sentence for people. */
import { ServiceError } from '../../lib/errors.ts';

export interface WorkFailedOptions extends ErrorOptions {
  /** The workload that failed, when it had been started. */
  workloadId?: string;
}

/** A build, a compose file or a start that failed. The message is for people. */
export class WorkFailed extends Error {
  override readonly name = 'WorkFailed';
  readonly workloadId: string | undefined;

  constructor(message: string, options: WorkFailedOptions = {}) {
    super(message, options);
    this.workloadId = options.workloadId;
  }
}

const diskFullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Whether the failure is expected, so that its sentence is complete. */
export function isExpected(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return thrown.code !== 'INTERNAL';
  return thrown instanceof WorkFailed || isDiskFull(thrown);
}

export function sentenceOf(thrown: unknown): string {
  if (isDiskFull(thrown)) return 'The disk of this server is full.';
  if (isExpected(thrown)) return (thrown as Error).message;
  return 'Something went wrong on our side.';
}

function isDiskFull(thrown: unknown): boolean {
  return diskFullCodes.has((thrown as { code?: unknown } | null)?.code);
}
