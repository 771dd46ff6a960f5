/**
 * Owns dialogs: in front of the page, with the focus inside, closed by Escape and by a click beside. The
 * page gets the focus back where it was.
 */
import { Dialog as Radix } from 'radix-ui';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { type ApiError, toApiError } from '../api/errors.ts';
import { Button } from './button.tsx';
import { ErrorNote } from './error-note.tsx';
import { TextField } from './field.tsx';
import { IconButton } from './button.tsx';

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  /** `wide` for editors and tables; `side` slides in, as navigation on phones does. */
  look?: 'normal' | 'wide' | 'side';
  children?: ReactNode;
}

export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  look = 'normal',
  children,
}: DialogProps) {
  const opener = useRef<HTMLElement | null>(null);
  const wasOpen = useRef(false);
  // Now: a field of the dialog may take the focus as soon as it is there.
  if (open && !wasOpen.current) opener.current = openerOf(document.activeElement);
  wasOpen.current = open;
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="dialog-veil" />
        <Radix.Content
          className={`dialog dialog-${look}`}
          onCloseAutoFocus={(event) => {
            // Radix knows the buttons that it was told of alone.
            event.preventDefault();
            giveBack(opener.current);
          }}
          {...(description == null && { 'aria-describedby': undefined })}
        >
          <header className="dialog-head">
            <Radix.Title className="dialog-title">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton icon="x" label="Close" size="small" />
            </Radix.Close>
          </header>
          {description != null && (
            <Radix.Description className="dialog-description">{description}</Radix.Description>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** What had the focus; of an entry of a menu, which goes with the menu, the button of that. */
function openerOf(focused: Element | null): HTMLElement | null {
  const labelledBy = focused?.closest('[role=menu]')?.getAttribute('aria-labelledby');
  if (labelledBy != null) return document.getElementById(labelledBy);
  return focused instanceof HTMLElement ? focused : null;
}

/** Where what opened it is gone, such as the row of what was deleted, the page begins anew at its heading. */
function giveBack(opener: HTMLElement | null): void {
  // It led to another page, which has the focus already.
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const isThere = opener !== null && opener !== document.body && opener.isConnected;
  const to = isThere ? opener : document.querySelector<HTMLElement>('main h1');
  to?.focus();
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>;
}

interface ConfirmDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** What happens, and whether there is a way back. */
  children: ReactNode;
  action: string;
  danger?: boolean;
  /** What has to be typed first, such as the name of what is deleted. */
  typed?: string;
  /** The dialog closes when it resolves, and shows why when it rejects. */
  onConfirm: () => Promise<unknown>;
}

export function ConfirmDialog({
  title,
  children,
  action,
  danger = false,
  typed,
  onConfirm,
  ...dialog
}: ConfirmDialogProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [text, setText] = useState('');
  const change = (open: boolean): void => {
    if (busy) return;
    setError(null);
    setText('');
    dialog.onOpenChange(open);
  };
  const confirm = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      setText('');
      dialog.onOpenChange(false);
    } catch (thrown) {
      setError(toApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={dialog.open} onOpenChange={change} title={title} description={children}>
      <form className="dialog-body" onSubmit={(event) => void confirm(event)}>
        {typed !== undefined && (
          <TextField
            label={`Type ${typed} to confirm`}
            value={text}
            onChange={(event) => setText(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        {error !== null && <ErrorNote error={error} />}
        <DialogActions>
          <Button onClick={() => change(false)} disabled={busy}>
            Cancel
          </Button>
          <Button
            type="submit"
            look={danger ? 'danger' : 'primary'}
            busy={busy}
            disabled={typed !== undefined && text !== typed}
          >
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
