/** Owns starting and stopping. It stops only when that was meant: its apps lose it. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { toastError } from '../../ui/toast.tsx';
import { type Database, mayOn, SetRunning } from './documents.ts';

export function RunButton({ database }: { database: Database }) {
  const { id, name, status, usedBy } = database;
  const [{ fetching }, set] = useMutation(SetRunning);
  const [asks, setAsks] = useState(false);
  if (!mayOn(database, 'control_databases') || status === 'provisioning') return null;
  const run = async (running: boolean): Promise<void> => {
    const { error } = await set({ id, running });
    if (error) throw error;
  };
  if (status === 'stopped') {
    return (
      <Button icon="play" busy={fetching} onClick={() => void run(true).catch(toastError)}>
        Start
      </Button>
    );
  }
  return (
    <>
      <Button icon="stop" busy={fetching} onClick={() => setAsks(true)}>
        Stop
      </Button>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Stop ${name}?`}
        action="Stop"
        onConfirm={() => run(false)}
      >
        {usedBy.length === 0
          ? 'Its data stays. It can be started again at any time.'
          : `${usedBy.map((app) => app.name).join(', ')} cannot reach it until it is started again. Its data stays.`}
      </ConfirmDialog>
    </>
  );
}
