/** Owns how a failure is told: the sentence, what to do, and the code and request id for whoever asks. */
import { toApiError } from '../api/errors.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { EmptyState } from './page.tsx';

interface ErrorNoteProps {
  /** Anything that was thrown, or urql's error of an answer. */
  error: unknown;
  /** Shows a button that tries again. */
  retry?: () => void;
}

export function ErrorNote({ error, retry }: ErrorNoteProps) {
  const told = toApiError(error);
  // Nothing has failed: what a page would show is not the caller's to see. It comes by itself once it is.
  if (retry && told.code === 'FORBIDDEN') {
    return (
      <EmptyState icon="shield" title="You may not see this">
        {told.message} {told.advice}
      </EmptyState>
    );
  }
  return (
    <div className="error-note" role="alert">
      <Icon name="warning" size={18} />
      <div className="error-note-text">
        <p className="error-note-sentence">{told.message}</p>
        <p>{told.advice}</p>
        <p className="error-note-facts">
          <code>{told.code}</code>
          {told.requestId !== null && (
            <>
              <span>
                Request <code>{told.requestId}</code>
              </span>
              <CopyButton text={told.requestId} label="Copy the request id" />
            </>
          )}
        </p>
      </div>
      {retry && (
        <Button size="small" icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}
