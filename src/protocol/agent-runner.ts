/** Owns how the runner of another server is reached over the link: its bytes are those of its own socket. */

export const runnerCalls = {
  /** Whether anything is on record there. */
  records: 'runner.records',
  /** Starts one, unless it answers; answered once it does. */
  launch: 'runner.launch',
  /** NOT_RUNNING where no runner listens. */
  stream: 'runner',
} as const;
