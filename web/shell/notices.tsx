/** Owns what is said over any page: that the server is not reached, and that the session has ended. */
import { Button, ButtonLink } from '../ui/button.tsx';
import { Dialog, DialogActions } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { setConnection, useConnection } from './connection.ts';

export function Notices() {
  const { online, signedOut } = useConnection();
  return (
    <>
      <div className="offline" role="status">
        {!online && (
          <p>
            <Icon name="warning" /> Offline: what you see may be old. It goes on by itself.
          </p>
        )}
      </div>
      <SignedOut open={signedOut} />
    </>
  );
}

/** What was typed stays on the page behind it. */
function SignedOut({ open }: { open: boolean }) {
  const close = (): void => setConnection({ signedOut: false });
  return (
    <Dialog
      open={open}
      onOpenChange={close}
      title="You are signed out"
      description="Your session has ended. Sign in again in a new tab, then go on here: nothing you typed is lost."
    >
      <DialogActions>
        <Button onClick={close}>I have signed in</Button>
        <ButtonLink href="/login?next=%2F" look="primary" icon="external" outside>
          Sign in
        </ButtonLink>
      </DialogActions>
    </Dialog>
  );
}
