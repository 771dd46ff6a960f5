/** Owns why a release did not start; its message is for people. */

export interface StartFailedOptions extends ErrorOptions {
  /** What failed, when it had been started. */
  workloadId?: string;
}

export class StartFailed extends Error {
  override readonly name = 'StartFailed';
  readonly workloadId: string | undefined;

  constructor(message: string, options: StartFailedOptions = {}) {
    super(message, options);
    this.workloadId = options.workloadId;
  }
}
