/** Owns telling what the provider has to be told, so that each push arrives here. */
import { useQuery } from 'urql';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { Skeleton } from '../../ui/page.tsx';
import { type GitConnection, WebhookQuery } from './documents.ts';
import { providers } from './providers.ts';

export interface Connected {
  connection: GitConnection;
  /** Known once, when the connection is made. */
  secret: string | null;
}

export function WebhookDialog({
  connected,
  close,
}: {
  connected: Connected | null;
  close: () => void;
}) {
  return (
    <Dialog
      open={connected !== null}
      onOpenChange={close}
      title={`Webhook of ${connected?.connection.label ?? ''}`}
      description="With it the provider tells of each push at once."
    >
      {connected !== null && <Webhook {...connected} close={close} />}
    </Dialog>
  );
}

function Webhook({
  connection: { id, provider },
  secret,
  close,
}: Connected & { close: () => void }) {
  const [{ data, error }, ask] = useQuery({ query: WebhookQuery });
  const words = providers[provider];
  const url = data?.gitConnections.find((one) => one.id === id)?.webhookUrl;
  return (
    <div className="dialog-body">
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      {url === undefined && !error && <Skeleton lines={2} />}
      {url !== undefined && <Value label="Address" value={url} />}
      {secret !== null && <Value label="Secret" value={secret} hint="It is not shown again." />}
      {words !== undefined && (
        <p>
          {words.webhook}. {words.choose}
        </p>
      )}
      <DialogActions>
        <Button look="primary" onClick={close}>
          {secret === null ? 'Close' : 'I have kept it'}
        </Button>
      </DialogActions>
    </div>
  );
}

function Value({ label, value, hint }: { label: string; value: string; hint?: string }) {
  return (
    <div className="git-value">
      <TextField
        label={label}
        value={value}
        readOnly
        spellCheck={false}
        onFocus={(event) => event.target.select()}
        {...(hint !== undefined && { hint })}
      />
      <CopyButton text={value} label={`Copy the ${label.toLowerCase()}`} />
    </div>
  );
}
