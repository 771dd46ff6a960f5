/** Owns what the driver of processes refuses with. */
import { ServiceError } from '../../lib/errors.ts';

export function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The process runner does not answer.', { cause });
}

export function notRunning(): ServiceError {
  return new ServiceError('NOT_RUNNING', 'It does not run.');
}

export function noAttach(): ServiceError {
  return new ServiceError(
    'BAD_USER_INPUT',
    'On this server a console is a shell beside the program; its own streams cannot be attached to.',
  );
}
