/** All variables of an app as one text: pasted from a .env, or edited as it is. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../../api/done.ts';
import { type ApiError, toApiError } from '../../../api/errors.ts';
import { Button } from '../../../ui/button.tsx';
import { CodeEditor } from '../../../ui/code-editor.tsx';
import { DialogActions } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Check } from '../../../ui/field.tsx';
import { toast } from '../../../ui/toast.tsx';
import { type Databases, DeleteEnv, UpsertEnv, type Variable } from './documents.ts';
import { type Edit, editOf, offersFor, textOf } from './edited-text.ts';

interface TextFormProps {
  appId: string;
  known: readonly Variable[];
  databases: Databases;
  close: () => void;
}

export function TextForm({ appId, known: now, databases, close }: TextFormProps) {
  // What somebody else changes meanwhile is neither undone nor deleted by this edit.
  const [known] = useState(now);
  const [text, setText] = useState(() => textOf(known));
  const [isSecret, setSecret] = useState(true);
  const [error, setError] = useState<ApiError | null>(null);
  const [upserting, upsert] = useMutation(UpsertEnv);
  const [deleting, remove] = useMutation(DeleteEnv);
  const edit = editOf(text, known);
  const { added, changed, deleted, problems } = edit;
  const isSame = added.length + changed.length + deleted.length === 0;
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setError(null);
    const keepsSecret = (key: string): boolean =>
      known.some((one) => one.key === key && one.isSecret);
    const entries = [
      ...added.map((entry) => ({ ...entry, isSecret })),
      ...changed.map((entry) => ({ ...entry, isSecret: keepsSecret(entry.key) })),
    ];
    try {
      if (entries.length > 0) await done(upsert({ appId, entries }));
      for (const key of deleted) await done(remove({ appId, key }));
      close();
      toast('The variables are saved.');
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <CodeEditor
        label="Lines of KEY=value"
        value={text}
        onChange={setText}
        complete={(before) => offersFor(before, databases)}
      />
      {problems.length > 0 && (
        <p className="field-error" role="alert">
          {problems[0]}
        </p>
      )}
      <p className="field-hint" role="status">
        {isSame ? 'Nothing changes.' : wordsOf(edit)}{' '}
        {databases.length > 0 && 'A $ offers the addresses of databases.'}
      </p>
      {added.length > 0 && (
        <Check
          label="New ones are secret"
          checked={isSecret}
          onChange={(event) => setSecret(event.target.checked)}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={upserting.fetching || deleting.fetching}
          disabled={isSame || problems.length > 0}
        >
          Save all
        </Button>
      </DialogActions>
    </form>
  );
}

function wordsOf({ added, changed, deleted }: Edit): string {
  const keys = (entries: Edit['added']): string => entries.map(({ key }) => key).join(', ');
  const said = [
    added.length > 0 && `New: ${keys(added)}.`,
    changed.length > 0 && `Changed: ${keys(changed)}.`,
    deleted.length > 0 && `Deleted: ${deleted.join(', ')}.`,
  ];
  return said.filter(Boolean).join(' ');
}
