/** Owns making a folder, at the top or in another one. */
import { type FormEvent, useState } from 'react';
import { type CombinedError, useMutation } from 'urql';
import { graphql } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { toast } from '../../ui/toast.tsx';
import { type Folder, pathsOf } from './things.ts';

const CreateFolder = graphql(`
  mutation CreateFolder($name: String!, $parentId: ID) {
    createFolder(name: $name, parentId: $parentId) {
      id
      name
      parentId
    }
  }
`);

export function NewFolder({ folders }: { folders: readonly Folder[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon="folder" onClick={() => setOpen(true)}>
        New folder
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title="New folder">
        <FolderForm folders={folders} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function FolderForm({ folders, onDone }: { folders: readonly Folder[]; onDone: () => void }) {
  const [name, setName] = useState('');
  const [parentId, setParentId] = useState('');
  const [error, setError] = useState<CombinedError>();
  const [{ fetching }, create] = useMutation(CreateFolder);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const answer = await create({ name, parentId: parentId || null });
    setError(answer.error);
    if (answer.error) return;
    toast(`${name} is there: apps are moved into it by their settings.`);
    onDone();
  };
  const places = [...pathsOf(folders)].map(([value, label]) => ({ value, label }));
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={100}
      />
      {places.length > 0 && (
        <SelectField
          label="In"
          options={[{ value: '', label: 'The top' }, ...places]}
          value={parentId}
          onChange={(event) => setParentId(event.target.value)}
        />
      )}
      {error && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching}>
          Create
        </Button>
      </DialogActions>
    </form>
  );
}
