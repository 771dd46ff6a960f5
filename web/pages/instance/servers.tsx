/** The machines that apps and databases run on: what they are, and what the administrator does with other servers. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Menu, MenuItem, MenuLine } from '../../ui/menu.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import { AddServerDialog } from './add-server.tsx';
import { DrainServer, ReissueServer, RemoveServer, type Server } from './documents.ts';
import { Isolation } from './isolation.tsx';

const runtimes: Readonly<Record<string, string>> = {
  process: 'Processes',
  docker: 'Docker',
  swarm: 'Docker swarm',
};

/** What is shown once. */
interface Command {
  name: string;
  line: string;
}

export function Servers({ servers }: { servers: readonly Server[] }) {
  const [adding, setAdding] = useState(false);
  const [command, setCommand] = useState<Command | null>(null);
  if (servers.length === 0) {
    return (
      <Section title="Servers">
        <EmptyState icon="server" title="Servers are shown to people in a team" />
      </Section>
    );
  }
  return (
    <>
      <Section
        title="Servers"
        description="Apps and databases are put on the first one."
        look="bare"
        actions={
          <Button icon="plus" onClick={() => setAdding(true)}>
            Add a server
          </Button>
        }
      >
        <ServerTable servers={servers} onCommand={setCommand} />
      </Section>
      {servers.map(
        ({ id, runtime, added, isolation }) =>
          runtime === 'process' && !added && <Isolation key={id} layers={isolation} />,
      )}
      <AddServerDialog
        open={adding}
        onOpenChange={setAdding}
        onAdded={(name, line) => setCommand({ name, line })}
      />
      <SecretOnce
        title={`Connect ${command?.name ?? ''}`}
        description="Run this line on the other machine, as root. It holds a secret, works once within 24 hours, and is not shown again."
        secret={command?.line ?? null}
        onDone={() => setCommand(null)}
      />
    </>
  );
}

interface ServerTableProps {
  servers: readonly Server[];
  onCommand: (command: Command) => void;
}

function ServerTable({ servers, onCommand }: ServerTableProps) {
  const [leaving, setLeaving] = useState<Server | null>(null);
  const [renewing, setRenewing] = useState<Server | null>(null);
  const [, remove] = useMutation(RemoveServer);
  const [, reissue] = useMutation(ReissueServer);
  return (
    <>
      <Table
        label="Servers"
        rows={servers}
        rowKey={({ id }) => id}
        columns={[
          { key: 'name', head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
          { key: 'state', head: 'State', cell: (server) => <State server={server} /> },
          {
            ...{ key: 'runtime', head: 'Runs apps by', lesser: true },
            cell: ({ runtime }) => runtimes[runtime] ?? runtime,
          },
          { key: 'version', head: 'Version', lesser: true, cell: ({ version }) => version ?? '–' },
          {
            ...{ key: 'seen', head: 'Last seen', lesser: true },
            cell: ({ lastSeenAt }) =>
              lastSeenAt === null ? '–' : <RelativeTime at={lastSeenAt} />,
          },
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: (server) =>
              server.added && (
                <Actions
                  server={server}
                  onReissue={() => setRenewing(server)}
                  onRemove={() => setLeaving(server)}
                />
              ),
          },
        ]}
      />
      <ConfirmDialog
        open={renewing !== null}
        onOpenChange={() => setRenewing(null)}
        title={`Connect ${renewing?.name ?? ''} anew?`}
        action="Show a new line"
        danger
        onConfirm={async () => {
          const { reissueServerBootstrap: made } = await done(reissue({ id: renewing?.id ?? '' }));
          onCommand({ name: made.server.name, line: made.installCommand });
        }}
      >
        Its agent is cut off at once, and comes back only with the new line.
      </ConfirmDialog>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Remove ${leaving?.name ?? ''}?`}
        action="Remove the server"
        danger
        typed={leaving?.name ?? ''}
        onConfirm={async () => {
          await done(remove({ id: leaving?.id ?? '' }));
          toast(`${leaving?.name ?? ''} is removed.`);
        }}
      >
        Its agent is cut off at once and not let in again. A server with apps or databases is not
        removed.
      </ConfirmDialog>
    </>
  );
}

interface ActionsProps {
  server: Server;
  onReissue: () => void;
  onRemove: () => void;
}

function Actions({ server: { id, name, draining }, onReissue, onRemove }: ActionsProps) {
  const [, drain] = useMutation(DrainServer);
  const change = async (): Promise<void> => {
    const { error } = await drain({ id, drain: !draining });
    if (error) toastError(error);
  };
  return (
    <Menu trigger={<IconButton icon="more" size="small" label={`Actions of ${name}`} />}>
      <MenuItem onSelect={() => void change()}>
        {draining ? 'Put new things on it again' : 'Put nothing new on it'}
      </MenuItem>
      <MenuItem icon="key" onSelect={onReissue}>
        Connect it anew…
      </MenuItem>
      <MenuLine />
      <MenuItem icon="trash" danger onSelect={onRemove}>
        Remove…
      </MenuItem>
    </Menu>
  );
}

function State({ server }: { server: Server }) {
  const { takeover, takeoverReason, problem } = server;
  return (
    <div className="instance-server">
      <Connection server={server} />
      {takeover !== null && <small>Takeover: {takeover}</small>}
      {takeoverReason !== null && <small>{takeoverReason}</small>}
      {problem !== null && <small>{problem}</small>}
    </div>
  );
}

function Connection({ server }: { server: Server }) {
  const { connected, draining, added, version, bootstrapExpiresAt: untilWhen } = server;
  if (!connected && added && version === null) {
    const waits = untilWhen !== null && Date.parse(untilWhen) > Date.now();
    return waits ? (
      <StatusDot status="waits for its agent" tone="busy" />
    ) : (
      <StatusDot status="never connected" tone="off" />
    );
  }
  if (!connected) return <StatusDot status="not reached" tone="bad" />;
  if (draining) return <StatusDot status="takes nothing new" tone="warn" />;
  return <StatusDot status="connected" />;
}
