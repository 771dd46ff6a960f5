/** Owns connecting a provider by its address, a token, and the secret that it signs deliveries with. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, SelectField, TextField } from '../../ui/field.tsx';
import { ConnectProvider } from './documents.ts';
import { providers } from './providers.ts';
import type { Connected } from './webhook.tsx';

interface ConnectDialogProps {
  open: boolean;
  close: () => void;
  onConnected: (connected: Connected) => void;
}

export function ConnectDialog({ open, close, onConnected }: ConnectDialogProps) {
  return (
    <Dialog open={open} onOpenChange={close} title="Connect a git provider" look="wide">
      <ConnectForm close={close} onConnected={onConnected} />
    </Dialog>
  );
}

const kinds = Object.entries(providers).map(([value, { name }]) => ({ value, label: name }));
/** For which a secret may be left out. */
const open = 'generic';

function ConnectForm({ close, onConnected }: Omit<ConnectDialogProps, 'open'>) {
  const [provider, setProvider] = useState('gitlab');
  const [label, setLabel] = useState('');
  const [baseUrl, setBaseUrl] = useState('');
  const [username, setUsername] = useState('');
  const [token, setToken] = useState('');
  const [signed, setSigned] = useState(true);
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, connect] = useMutation(ConnectProvider);
  const words = providers[provider];
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setError(null);
    const secret = provider === open && !signed ? null : newSecret();
    const typed = { username: username.trim() || null, token: token.trim() || null };
    const input = { provider, label, baseUrl: baseUrl.trim(), webhookSecret: secret, ...typed };
    try {
      const { connectGitProvider: connection } = await done(connect({ input }));
      close();
      onConnected({ connection, secret });
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <div className="git-row">
        <SelectField
          label="Provider"
          options={kinds}
          value={provider}
          onChange={(event) => setProvider(event.target.value)}
        />
        <TextField
          label="Name"
          value={label}
          onChange={(event) => setLabel(event.target.value)}
          required
          maxLength={100}
          placeholder="Ours"
          autoComplete="off"
        />
      </div>
      <TextField
        label="Address"
        type="url"
        value={baseUrl}
        onChange={(event) => setBaseUrl(event.target.value)}
        required
        maxLength={512}
        placeholder={words?.baseUrl}
        spellCheck={false}
      />
      <div className="git-row">
        <TextField
          label="Token"
          type="password"
          value={token}
          onChange={(event) => setToken(event.target.value)}
          placeholder="public repositories alone"
          hint={words?.token}
          maxLength={4096}
          autoComplete="off"
        />
        <TextField
          label="User of the token"
          value={username}
          onChange={(event) => setUsername(event.target.value)}
          placeholder="what the provider takes"
          maxLength={255}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
        />
      </div>
      {provider === open && (
        <Check
          label="Deliveries are signed"
          hint="Without, whoever knows the address of the webhook may say that something was pushed."
          checked={signed}
          onChange={(event) => setSigned(event.target.checked)}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={fetching}
          disabled={label.trim() === '' || baseUrl.trim() === ''}
        >
          Connect
        </Button>
      </DialogActions>
    </form>
  );
}

const secretBytes = 32;

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(secretBytes));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
