/** Owns the address of a database: masked, until somebody who may asks for the password. */
import { useEffect, useState } from 'react';
import { useMutation } from 'urql';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { type Database, RevealConnection } from './documents.ts';

/** What is shown goes by itself, for whoever leaves the page open. */
const shownMs = 60_000;

export function Connection({ database: { id, connectionStringMasked } }: { database: Database }) {
  const { can } = useSession();
  const [{ fetching, error }, reveal] = useMutation(RevealConnection);
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => {
    if (shown === null) return undefined;
    const timer = setTimeout(() => setShown(null), shownMs);
    return () => clearTimeout(timer);
  }, [shown]);
  // Another address or another password: what was shown is no longer true.
  useEffect(() => setShown(null), [id, connectionStringMasked]);
  const show = async (): Promise<void> => {
    const { data } = await reveal({ id });
    if (data) setShown(data.revealConnection);
  };
  return (
    <>
      <div className="database-connection">
        <code>{shown ?? connectionStringMasked}</code>
        {shown !== null && <CopyButton text={shown} label="Copy the connection string" />}
        {can('reveal_secrets') && (
          <Button
            size="small"
            icon="eye"
            busy={fetching}
            onClick={() => (shown === null ? void show() : setShown(null))}
          >
            {shown === null ? 'Show' : 'Hide'}
          </Button>
        )}
      </div>
      {!can('reveal_secrets') && (
        <p className="database-none">
          The password is shown to who holds the right to reveal secrets.
        </p>
      )}
      {error && <ErrorNote error={error} />}
    </>
  );
}
