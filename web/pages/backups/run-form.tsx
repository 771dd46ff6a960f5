/** Asks what is backed up, and where to. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField } from '../../ui/field.tsx';
import { type BackupsAnswer, RunFields } from './documents.ts';

const RunBackup = graphql(
  `
    mutation RunBackup($appId: ID, $databaseId: ID, $destinationId: ID!) {
      runBackup(appId: $appId, databaseId: $databaseId, destinationId: $destinationId) {
        ...RunFields
      }
    }
  `,
  [RunFields],
);
const RunInstanceBackup = graphql(
  `
    mutation RunInstanceBackup($destinationId: ID!) {
      runInstanceBackup(destinationId: $destinationId) {
        ...RunFields
      }
    }
  `,
  [RunFields],
);

/** In lists of targets: the instance itself. */
export const instanceTarget = 'instance';

/** The apps and databases that can be backed up, and for the administrator the instance. */
export function useTargets(data: BackupsAnswer): { value: string; label: string }[] {
  const { me } = useSession();
  return [
    ...data.databases.map(({ id, name }) => ({ value: id, label: `${name} (database)` })),
    ...data.apps.nodes.map(({ id, name }) => ({ value: id, label: `${name} (app)` })),
    ...(me.isInstanceAdmin ? [{ value: instanceTarget, label: 'This Gangway itself' }] : []),
  ];
}

/** The arguments that name a target. */
export function targetOf(
  value: string,
  data: BackupsAnswer,
): { appId: string } | { databaseId: string } {
  const isDatabase = data.databases.some(({ id }) => id === value);
  return isDatabase ? { databaseId: value } : { appId: value };
}

export function destinationOptions(
  { backupDestinations }: BackupsAnswer,
  target: string,
): { value: string; label: string }[] {
  // A backup of the instance holds its keys.
  const fitting = backupDestinations.filter((one) => one.encrypted || target !== instanceTarget);
  return fitting.map(({ id, name }) => ({ value: id, label: name }));
}

interface RunFormProps {
  data: BackupsAnswer;
  close: () => void;
  onBegun: () => void;
}

export function RunForm({ data, close, onBegun }: RunFormProps) {
  const targets = useTargets(data);
  const [target, setTarget] = useState(targets[0]?.value ?? '');
  const options = destinationOptions(data, target);
  const [chosen, setChosen] = useState('');
  const destinationId = options.find(({ value }) => value === chosen)?.value ?? options[0]?.value;
  const [error, setError] = useState<ApiError | null>(null);
  const [running, run] = useMutation(RunBackup);
  const [runningInstance, runInstance] = useMutation(RunInstanceBackup);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (destinationId === undefined) return;
    try {
      await (target === instanceTarget
        ? done(runInstance({ destinationId }))
        : done(run({ ...targetOf(target, data), destinationId })));
      onBegun();
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <SelectField
        label="What"
        options={targets}
        value={target}
        onChange={(event) => setTarget(event.target.value)}
      />
      <SelectField
        label="Where to"
        options={options}
        value={destinationId ?? ''}
        hint={options.length === 0 ? 'It needs a destination that encrypts.' : undefined}
        onChange={(event) => setChosen(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={running.fetching || runningInstance.fetching}
          disabled={target === '' || destinationId === undefined}
        >
          Back up
        </Button>
      </DialogActions>
    </form>
  );
}
