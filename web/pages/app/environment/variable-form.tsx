/** One variable: its key, value, who may see it, and what has it. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../../api/done.ts';
import { type ApiError, toApiError } from '../../../api/errors.ts';
import type { Enum } from '../../../api/graphql.ts';
import { Button } from '../../../ui/button.tsx';
import { DialogActions } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Check, SelectField, TextArea, TextField } from '../../../ui/field.tsx';
import { toast } from '../../../ui/toast.tsx';
import { type Databases, UpsertEnv, type Variable } from './documents.ts';
import { referenceTo } from './edited-text.ts';

type Target = Enum<'EnvTarget'>;

const targets = [
  { value: 'production,preview', label: 'The app and its previews' },
  { value: 'production', label: 'The app alone' },
  { value: 'preview', label: 'Its previews alone' },
];

interface VariableFormProps {
  appId: string;
  /** Null: a new one. */
  variable: Variable | null;
  databases: Databases;
  close: () => void;
}

export function VariableForm({ appId, variable, databases, close }: VariableFormProps) {
  const [key, setKey] = useState(variable?.key ?? '');
  const [value, setValue] = useState(variable?.value ?? '');
  const [isSecret, setSecret] = useState(variable?.isSecret ?? true);
  const [target, setTarget] = useState(() => targetOf(variable));
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, upsert] = useMutation(UpsertEnv);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      const entry = { key, value, isSecret, targets: target.split(',') as Target[] };
      await done(upsert({ appId, entries: [entry] }));
      close();
      toast(`${key} is saved.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Key"
        required
        autoFocus={variable === null}
        readOnly={variable !== null}
        spellCheck={false}
        autoComplete="off"
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      <TextArea
        label={variable === null ? 'Value' : 'New value'}
        spellCheck={false}
        autoFocus={variable !== null}
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
      {databases.length > 0 && (
        <div className="env-references">
          <span className="field-hint">Refer to a database:</span>
          {databases.map(({ id, name }) => (
            <Button
              key={id}
              size="small"
              icon="database"
              onClick={() => setValue((before) => before + referenceTo(id))}
            >
              {name}
            </Button>
          ))}
        </div>
      )}
      <SelectField
        label="For"
        options={targets}
        value={target}
        onChange={(event) => setTarget(event.target.value)}
      />
      <Check
        label="Secret"
        hint="It is masked everywhere, and only shown to whoever may reveal secrets."
        checked={isSecret}
        onChange={(event) => setSecret(event.target.checked)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching} disabled={key === ''}>
          Save
        </Button>
      </DialogActions>
    </form>
  );
}

function targetOf(variable: Variable | null): string {
  if (variable?.targets.length !== 1) return 'production,preview';
  return variable.targets[0] ?? '';
}
