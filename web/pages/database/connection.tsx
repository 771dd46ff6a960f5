/** Owns the address of a database: masked, until somebody who may asks for the password. */
import { useEffect, useState } from 'react';
import { useMutation } from 'urql';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { type Database, mayOn, RevealConnection } from './documents.ts';

/** What is shown goes by itself, for whoever leaves the page open. */
const shownMs = 60_000;

export function Connection({ database }: { database: Database }) {
  const { id, connectionStringMasked } = database;
  const mayReveal = mayOn(database, 'reveal_secrets');
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
        {mayReveal && (
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
      {!mayReveal && (
        <p className="database-none">
          The password is shown to who holds the right to reveal secrets.
        </p>
      )}
      {error && <ErrorNote error={error} />}
    </>
  );
}
