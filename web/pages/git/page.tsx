/** Where the team's repositories are: its connections to git providers. */
import { useState } from 'react';
import { useQuery } from 'urql';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { ConnectDialog } from './connect.tsx';
import { ConnectionsQuery, type GitConnection } from './documents.ts';
import { GithubDialog } from './github.tsx';
import { providerName } from './providers.ts';
import { RemoveDialog } from './remove.tsx';
import { type Connected, WebhookDialog } from './webhook.tsx';

export function Page() {
  const { can } = useSession();
  if (can('manage_git')) return <Connections />;
  return (
    <Frame title="Git">
      <EmptyState icon="shield" title="You may not see the git connections of this team">
        That needs the right to manage git, which somebody who manages the team can give you.
      </EmptyState>
    </Frame>
  );
}

function Connections() {
  const [{ data, error }, ask] = useQuery({ query: ConnectionsQuery });
  const [opened, setOpened] = useState<'github' | 'other' | null>(null);
  const [connected, setConnected] = useState<Connected | null>(null);
  const [leaving, setLeaving] = useState<GitConnection | null>(null);
  const close = (): void => setOpened(null);
  const connections = data?.gitConnections;
  const actions = (
    <>
      <Button onClick={() => setOpened('other')}>Connect another</Button>
      <Button look="primary" icon="git" onClick={() => setOpened('github')}>
        Connect GitHub
      </Button>
    </>
  );
  return (
    <Frame title="Git" actions={connections && connections.length > 0 ? actions : null}>
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      {!connections && !error && <Skeleton look="rows" />}
      {connections?.length === 0 && (
        <EmptyState icon="git" title="No git provider is connected" action={actions}>
          Connect one to deploy private repositories, and each push to them by itself.
        </EmptyState>
      )}
      {connections && connections.length > 0 && (
        <ConnectionTable
          connections={connections}
          onWebhook={(connection) => setConnected({ connection, secret: null })}
          onRemove={setLeaving}
        />
      )}
      <GithubDialog open={opened === 'github'} close={close} />
      <ConnectDialog open={opened === 'other'} close={close} onConnected={setConnected} />
      <WebhookDialog connected={connected} close={() => setConnected(null)} />
      <RemoveDialog connection={leaving} close={() => setLeaving(null)} />
    </Frame>
  );
}

interface ConnectionTableProps {
  connections: readonly GitConnection[];
  onWebhook: (connection: GitConnection) => void;
  onRemove: (connection: GitConnection) => void;
}

function ConnectionTable({ connections, onWebhook, onRemove }: ConnectionTableProps) {
  return (
    <Table
      label="Git connections"
      rows={connections}
      rowKey={({ id }) => id}
      columns={[
        { key: 'label', head: 'Name', cell: ({ label }) => <bdi>{label}</bdi> },
        { key: 'kind', head: 'Provider', cell: ({ provider }) => providerName(provider) },
        {
          ...{ key: 'at', head: 'Address', lesser: true },
          cell: ({ baseUrl }) => baseUrl.replace(/^https:\/\//, ''),
        },
        {
          ...{ key: 'apps', head: 'Apps', lesser: true, align: 'end' as const },
          cell: ({ appCount }) => appCount,
        },
        {
          ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
          cell: (connection) => (
            <div className="row-actions">
              {connection.provider !== 'github' && (
                <Button size="small" icon="link" onClick={() => onWebhook(connection)}>
                  Webhook
                </Button>
              )}
              <Button size="small" onClick={() => onRemove(connection)}>
                Remove
              </Button>
            </div>
          ),
        },
      ]}
    />
  );
}
