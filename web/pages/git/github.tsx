/** Owns leading somebody to GitHub, where an App of the team's own is made by one click. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { StartGithub } from './documents.ts';

export function GithubDialog({ open, close }: { open: boolean; close: () => void }) {
  return (
    <Dialog
      open={open}
      onOpenChange={close}
      title="Connect GitHub"
      description="GitHub makes an App that belongs to you and may read what you install it on. It asks you twice: for the App’s name, and for the repositories."
    >
      <GithubForm close={close} />
    </Dialog>
  );
}

function GithubForm({ close }: { close: () => void }) {
  const [org, setOrg] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const [, start] = useMutation(StartGithub);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setError(null);
    setLeaving(true);
    try {
      const { startGithubConnect } = await done(start({ org: org.trim() || null }));
      postTo(startGithubConnect.actionUrl, { manifest: startGithubConnect.manifest });
    } catch (thrown) {
      setLeaving(false);
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Organization"
        value={org}
        onChange={(event) => setOrg(event.target.value)}
        placeholder="your own account"
        hint="The one that is to own the App; you have to be an owner of it."
        maxLength={100}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" icon="external" busy={isLeaving}>
          Go on at GitHub
        </Button>
      </DialogActions>
    </form>
  );
}

/** As GitHub wants it: a form of this page, whose answer is GitHub's own page. */
function postTo(action: string, fields: Readonly<Record<string, string>>): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = action;
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement('input');
    Object.assign(field, { type: 'hidden', name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}
