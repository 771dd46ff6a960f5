/** What the administrator may change of the instance while it runs. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { type Settings, UpdateSettings } from './documents.ts';

interface Edits {
  publicUrl?: string;
  logMaxDays?: string;
}

/** Sends what was changed alone, so that it undoes no change of somebody else. */
export function SettingsForm({ settings }: { settings: Settings }) {
  const [edits, setEdits] = useState<Edits>({});
  const [error, setError] = useState<ApiError | null>(null);
  const [isMoving, setMoving] = useState(false);
  const [{ fetching }, update] = useMutation(UpdateSettings);
  const kept = { publicUrl: settings.publicUrl, logMaxDays: String(settings.logMaxDays) };
  const { publicUrl, logMaxDays } = { ...kept, ...edits };
  const change = {
    ...(publicUrl !== kept.publicUrl && { publicUrl: publicUrl.trim() }),
    ...(logMaxDays !== kept.logMaxDays && { logMaxDays: Number(logMaxDays) }),
  };
  const isDirty = Object.keys(change).length > 0;
  const save = async (): Promise<void> => {
    await done(update(change));
    setEdits({});
    setError(null);
    toast('Saved.');
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (change.publicUrl !== undefined) return setMoving(true);
    try {
      await save();
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <div id="settings">
      <Section title="Settings" description="All others are in the configuration of the start.">
        <form className="settings-form" onSubmit={(event) => void submit(event)}>
          <div className="settings-row">
            <TextField
              label="Public address"
              type="url"
              required
              value={publicUrl}
              onChange={(event) => setEdits({ ...edits, publicUrl: event.target.value })}
              hint="Where people, webhooks and agents reach Gangway: scheme, host and port."
            />
            <TextField
              label="Days that logs are kept"
              type="number"
              required
              min={1}
              max={3650}
              value={logMaxDays}
              onChange={(event) => setEdits({ ...edits, logMaxDays: event.target.value })}
              hint="Older lines of apps and databases are removed."
            />
          </div>
          {error !== null && <ErrorNote error={error} />}
          <div className="settings-actions">
            <span className="settings-note" />
            {isDirty && (
              <Button onClick={() => setEdits({})} disabled={fetching}>
                Undo
              </Button>
            )}
            <Button
              type="submit"
              look={isDirty ? 'primary' : 'plain'}
              disabled={!isDirty}
              busy={fetching}
            >
              Save
            </Button>
          </div>
        </form>
        <ConfirmDialog
          open={isMoving}
          onOpenChange={setMoving}
          title="Change the public address?"
          action="Change the address"
          onConfirm={save}
        >
          Links, webhooks and sign-in lead to {publicUrl} from then on. Make sure that you reach
          Gangway there: browsers under another address may be refused.
        </ConfirmDialog>
      </Section>
    </div>
  );
}
