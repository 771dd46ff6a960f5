/** Turning two-factor on, with a code for an authenticator app and recovery codes, and off. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { done } from '../../api/done.ts';
import { graphql } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { toast } from '../../ui/toast.tsx';
import { qrPath } from './qr.ts';

const Start = graphql(`
  mutation StartTwoFactorEnrolment($password: String!) {
    startTwoFactorEnrolment(password: $password) {
      uri
      recoveryCodes
    }
  }
`);
const Confirm = graphql(`
  mutation ConfirmTwoFactorEnrolment($code: String!) {
    confirmTwoFactorEnrolment(code: $code)
  }
`);
const Disable = graphql(`
  mutation DisableTwoFactor($code: String!, $password: String!) {
    disableTwoFactor(code: $code, password: $password)
  }
`);

interface TwoFactorProps {
  isOn: boolean;
  onChange: () => void;
}

export function TwoFactor({ isOn, onChange }: TwoFactorProps) {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <Section
      title="Two-factor"
      description="A code from your phone besides the password."
      actions={
        <Button look={isOn ? 'plain' : 'primary'} onClick={() => setOpen(true)}>
          {isOn ? 'Turn off' : 'Turn on'}
        </Button>
      }
    >
      <p>
        <StatusDot status={isOn ? 'on' : 'off'} tone={isOn ? 'good' : 'warn'} />
      </p>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title={isOn ? 'Turn two-factor off' : 'Turn two-factor on'}
      >
        {isOn ? (
          <TurnOff onDone={onChange} close={close} />
        ) : (
          <TurnOn onDone={onChange} close={close} />
        )}
      </Dialog>
    </Section>
  );
}

interface StepsProps {
  onDone: () => void;
  close: () => void;
}

interface Enrolment {
  uri: string;
  recoveryCodes: readonly string[];
  path: string;
  size: number;
}

function TurnOn({ onDone, close }: StepsProps) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [starting, start] = useMutation(Start);
  const [confirming, confirm] = useMutation(Confirm);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setError(null);
    try {
      if (enrolment === null) {
        const { startTwoFactorEnrolment: started } = await done(start({ password }));
        setEnrolment({ ...started, ...(await qrPath(started.uri)) });
      } else {
        await done(confirm({ code: code.replaceAll(' ', '') }));
        toast('Two-factor is on.');
        onDone();
        close();
      }
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      {enrolment === null ? (
        <TextField
          label="Your password"
          type="password"
          autoComplete="current-password"
          autoFocus
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      ) : (
        <>
          <EnrolmentView enrolment={enrolment} />
          <TextField
            label="Code of the app"
            inputMode="numeric"
            autoComplete="one-time-code"
            autoFocus
            required
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        </>
      )}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={starting.fetching || confirming.fetching}>
          {enrolment === null ? 'Continue' : 'Turn on'}
        </Button>
      </DialogActions>
    </form>
  );
}

function EnrolmentView({
  enrolment: { uri, recoveryCodes, path, size },
}: {
  enrolment: Enrolment;
}) {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return (
    <>
      <p>
        Scan this with an authenticator app, and keep the recovery codes: each signs you in once.
      </p>
      <div className="account-enrolment">
        <svg
          className="account-qr"
          viewBox={`0 0 ${String(size)} ${String(size)}`}
          role="img"
          aria-label="QR code for an authenticator app"
        >
          <path d={path} />
        </svg>
        <div>
          <p className="field-label">Or type this key</p>
          <p className="account-key">
            <code>{secret}</code>
            <CopyButton text={secret} label="Copy the key" />
          </p>
          <p className="field-label">
            Recovery codes{' '}
            <CopyButton text={recoveryCodes.join('\n')} label="Copy the recovery codes" />
          </p>
          <ul className="account-codes">
            {recoveryCodes.map((one) => (
              <li key={one}>
                <code>{one}</code>
              </li>
            ))}
          </ul>
        </div>
      </div>
    </>
  );
}

function TurnOff({ onDone, close }: StepsProps) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [{ fetching, error }, disable] = useMutation(Disable);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const answer = await disable({ password, code: code.replaceAll(' ', '') });
    if (answer.error) return;
    toast('Two-factor is off.');
    onDone();
    close();
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Your password"
        type="password"
        autoComplete="current-password"
        autoFocus
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <TextField
        label="Code of the app"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
      {error && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="danger" busy={fetching}>
          Turn off
        </Button>
      </DialogActions>
    </form>
  );
}
