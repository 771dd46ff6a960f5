/** Owns showing a secret that is told only once: to be copied before the dialog is left. */
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';

interface SecretOnceProps {
  title: string;
  /** What it is for, and that it is not shown again. */
  description: string;
  /** Null: there is none to show. */
  secret: string | null;
  onDone: () => void;
}

export function SecretOnce({ title, description, secret, onDone }: SecretOnceProps) {
  return (
    <Dialog
      open={secret !== null}
      onOpenChange={(open) => {
        if (!open) onDone();
      }}
      title={title}
      description={description}
    >
      <div className="secret-once">
        <code>{secret}</code>
        <CopyButton text={secret ?? ''} label="Copy" />
      </div>
      <DialogActions>
        <Button look="primary" onClick={onDone}>
          I have kept it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
