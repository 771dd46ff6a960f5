/** Restoring a backup: asked for by name, then followed line by line to its verdict. */
import { useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { exactTime } from '../../ui/relative-time.tsx';
import { StatusDot } from '../../ui/status.tsx';
import type { Run } from './documents.ts';

const RestoreFields = graphql(`
  fragment RestoreFields on RestoreRun {
    id
    status
    error
    log
  }
`);
const RestoreBackup = graphql(
  `
    mutation RestoreBackup($runId: ID!) {
      restoreBackup(runId: $runId) {
        ...RestoreFields
      }
    }
  `,
  [RestoreFields],
);
const RestoreQuery = graphql(
  `
    query RestoreRun($id: ID!) {
      restoreRun(id: $id) {
        ...RestoreFields
      }
    }
  `,
  [RestoreFields],
);

interface RestoreDialogProps {
  run: Run;
  /** Of the app or database. */
  name: string;
  onClose: () => void;
}

export function RestoreDialog({ run, name, onClose }: RestoreDialogProps) {
  const [restoreId, setRestoreId] = useState<string | null>(null);
  const [text, setText] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, restore] = useMutation(RestoreBackup);
  const begin = async (): Promise<void> => {
    try {
      const { restoreBackup } = await done(restore({ runId: run.id }));
      setRestoreId(restoreBackup.id);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  if (restoreId !== null) {
    return (
      <Dialog open onOpenChange={onClose} look="wide" title={`Restore of ${name}`}>
        <RestoreLog id={restoreId} />
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title={`Restore ${name}?`}
      description={`All it holds now is replaced by the backup of ${exactTime(run.startedAt)}. Until the new state is well, the old one is kept.`}
    >
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <TextField
          label={`Type ${name} to confirm`}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {error !== null && <ErrorNote error={error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" busy={fetching} disabled={text !== name}>
            Restore
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function RestoreLog({ id }: { id: string }) {
  const [{ data, error }] = useQuery({ query: RestoreQuery, variables: { id } });
  const run = data?.restoreRun;
  const isOver = run != null && run.status !== 'running';
  return (
    <div className="dialog-body">
      {error && <ErrorNote error={error} />}
      {run && (
        <StatusDot
          status={run.status}
          {...(run.status === 'running' && { tone: 'busy' as const })}
        />
      )}
      <pre className="backups-log" tabIndex={0} aria-label="Log of the restore">
        {run?.log.join('\n')}
      </pre>
      {run?.error != null && <p className="backups-error">{run.error}</p>}
      {!isOver && <p className="section-description">It goes on when you close this.</p>}
    </div>
  );
}
