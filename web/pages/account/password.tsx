/** Changing the password. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { graphql } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';

const ChangePassword = graphql(`
  mutation ChangePassword($current: String!, $next: String!) {
    changePassword(currentPassword: $current, newPassword: $next)
  }
`);

export function Password() {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [{ fetching, error }, change] = useMutation(ChangePassword);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const answer = await change({ current, next });
    if (answer.error) return;
    setCurrent('');
    setNext('');
    toast('Your password is changed. Other sessions are signed out.');
  };
  return (
    <Section title="Password">
      <form className="account-form" onSubmit={(event) => void submit(event)}>
        <TextField
          label="Current password"
          type="password"
          autoComplete="current-password"
          required
          value={current}
          onChange={(event) => setCurrent(event.target.value)}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          value={next}
          onChange={(event) => setNext(event.target.value)}
        />
        {error && <ErrorNote error={error} />}
        <div>
          <Button type="submit" busy={fetching} disabled={current === '' || next === ''}>
            Change password
          </Button>
        </div>
      </form>
    </Section>
  );
}
