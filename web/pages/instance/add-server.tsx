/** The dialog that adds another machine. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, TextField } from '../../ui/field.tsx';
import { AddServer } from './documents.ts';

interface AddServerDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** With the line that connects it. */
  onAdded: (name: string, line: string) => void;
}

export function AddServerDialog(props: AddServerDialogProps) {
  return (
    <Dialog
      open={props.open}
      onOpenChange={props.onOpenChange}
      title="Add a server"
      description="Another machine with Node.js 22. Its agent dials out to this instance: no port has to be opened there."
    >
      <AddServerForm {...props} />
    </Dialog>
  );
}

function AddServerForm({ onOpenChange, onAdded }: AddServerDialogProps) {
  const [name, setName] = useState('');
  const [takeover, setTakeover] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, add] = useMutation(AddServer);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      const { addServer } = await done(add({ name, takeover }));
      onOpenChange(false);
      onAdded(addServer.server.name, addServer.installCommand);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Name"
        required
        autoFocus
        placeholder="Rack 2"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <Check
        label="Take it over from another platform"
        hint="The line also reports how the takeover goes, and can have the other platform removed."
        checked={takeover}
        onChange={(event) => setTakeover(event.target.checked)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={() => onOpenChange(false)}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching} disabled={name.trim() === ''}>
          Add the server
        </Button>
      </DialogActions>
    </form>
  );
}
