/** Owns what changes a database for good: another password, and its end. */
import { useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { useLocation } from 'wouter';
import type { ResultOf } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { ServerSection } from '../server/server-section.tsx';
import {
  type Database,
  DeleteDatabase,
  mayOn,
  MoveDatabase,
  RotatePassword,
  ServersQuery,
} from './documents.ts';
import { DatabaseFrame } from './frame.tsx';

type Servers = ResultOf<typeof ServersQuery>['servers'];

/** Asks for the servers beside the database itself. */
export function SettingsPage({ id }: { id: string }) {
  const [{ data }] = useQuery({ query: ServersQuery });
  return (
    <DatabaseFrame id={id} title="Settings">
      {(database) => <SettingsTab database={database} servers={data?.servers ?? []} />}
    </DatabaseFrame>
  );
}

function SettingsTab({ database, servers }: { database: Database; servers: Servers }) {
  const mayRotate = mayOn(database, 'configure_databases');
  const mayDelete = mayOn(database, 'delete_databases');
  if (!mayRotate && !mayDelete) {
    return (
      <EmptyState icon="settings" title="You may change nothing here">
        Ask an owner of the team for the right to configure or delete databases.
      </EmptyState>
    );
  }
  return (
    <>
      {mayRotate && <Password database={database} />}
      {mayRotate && <Server database={database} servers={servers} />}
      {mayDelete && <Deletion database={database} />}
    </>
  );
}

function Password({ database: { id, status } }: { database: Database }) {
  const [, rotate] = useMutation(RotatePassword);
  const [asks, setAsks] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const confirm = async (): Promise<void> => {
    const { data, error } = await rotate({ id });
    if (error) throw error;
    setMade(data?.rotateDatabasePassword ?? null);
  };
  return (
    <Section
      title="Password"
      description="A new one takes effect at once. Running apps that are told it by a variable are restarted; others have to be told."
    >
      <div>
        <Button icon="key" disabled={status !== 'running'} onClick={() => setAsks(true)}>
          Make a new password
        </Button>
        {status !== 'running' && <p className="database-none">The database has to run for this.</p>}
      </div>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title="Make a new password?"
        action="Make a new password"
        onConfirm={confirm}
      >
        Whoever uses the old one is locked out.
      </ConfirmDialog>
      <Dialog
        open={made !== null}
        onOpenChange={() => setMade(null)}
        title="The new connection string"
        description="It is shown here once more whenever you ask for it."
      >
        <div className="database-connection">
          <code>{made}</code>
          <CopyButton text={made ?? ''} label="Copy the connection string" />
        </div>
      </Dialog>
    </Section>
  );
}

function Server({
  database: { id, ...database },
  servers,
}: {
  database: Database;
  servers: Servers;
}) {
  const [, mutate] = useMutation(MoveDatabase);
  const onMove = async (serverId: string): Promise<void> => {
    const { error } = await mutate({ id, serverId });
    if (error) throw error;
  };
  return <ServerSection {...database} servers={servers} onMove={onMove} />;
}

function Deletion({ database: { id, name, usedBy } }: { database: Database }) {
  const [, remove] = useMutation(DeleteDatabase);
  const [, navigate] = useLocation();
  const [asks, setAsks] = useState(false);
  const isUsed = usedBy.length > 0;
  const confirm = async (): Promise<void> => {
    const { error } = await remove({ id, force: isUsed });
    if (error) throw error;
    toast(`${name} is in trash for 7 days.`);
    navigate('/');
  };
  return (
    <Section
      title="Danger zone"
      look="danger"
      description="It stops, and lies in trash for 7 days, from where it can come back with its data."
    >
      <div>
        <Button look="danger" icon="trash" onClick={() => setAsks(true)}>
          Delete the database
        </Button>
      </div>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Delete ${name}?`}
        action="Delete"
        danger
        typed={name}
        onConfirm={confirm}
      >
        {isUsed
          ? `${usedBy.map((app) => app.name).join(', ')} use it and will fail without it.`
          : 'No app refers to it.'}
      </ConfirmDialog>
    </Section>
  );
}
