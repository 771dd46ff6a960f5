/** Owns what each part of the settings is made of: fields, what went wrong, and the buttons that keep or drop it. */
import type { FormEvent, ReactNode } from 'react';
import type { ApiError } from '../../../api/errors.ts';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Section } from '../../../ui/page.tsx';

interface SettingsPartProps {
  title: string;
  description?: ReactNode;
  form: {
    isDirty: boolean;
    isContested: boolean;
    busy: boolean;
    error: ApiError | null;
    save: () => Promise<void>;
    reset: () => void;
  };
  /** Said beside the buttons, such as when a change takes effect. */
  note?: ReactNode;
  children: ReactNode;
}

export function SettingsPart({ title, description, form, note, children }: SettingsPartProps) {
  const { isDirty, isContested, busy, error, save, reset } = form;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void save();
  };
  return (
    <Section title={title} description={description}>
      <form className="settings-form" onSubmit={submit}>
        {children}
        {error !== null && <ErrorNote error={error} />}
        <div role="status">
          {isContested && (
            <p className="settings-contested">
              <Icon name="warning" /> Somebody else has changed this meanwhile: Save puts what you
              typed in its place, Undo shows it.
            </p>
          )}
        </div>
        <div className="settings-actions">
          <span className="settings-note">{note}</span>
          {isDirty && (
            <Button onClick={reset} disabled={busy}>
              Undo
            </Button>
          )}
          <Button
            type="submit"
            look={isDirty ? 'primary' : 'plain'}
            disabled={!isDirty}
            busy={busy}
          >
            Save
          </Button>
        </div>
      </form>
    </Section>
  );
}
