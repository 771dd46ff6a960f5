/** The machines that apps and databases run on, and what keeps those apart there. */
import { EmptyState, Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Badge, StatusDot } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import type { Server } from './documents.ts';

const runtimes: Readonly<Record<string, string>> = {
  process: 'Processes',
  docker: 'Docker',
  swarm: 'Docker swarm',
};

export function Servers({ servers }: { servers: readonly Server[] }) {
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
      >
        <Table
          label="Servers"
          rows={servers}
          rowKey={({ id }) => id}
          columns={[
            { key: 'name', head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
            { key: 'state', head: 'State', cell: (server) => <State server={server} /> },
            {
              ...{ key: 'runtime', head: 'Runs apps by' },
              cell: ({ runtime, version }) =>
                [runtimes[runtime] ?? runtime, version].filter(Boolean).join(' '),
            },
            {
              ...{ key: 'seen', head: 'Last seen', lesser: true },
              cell: ({ lastSeenAt }) =>
                lastSeenAt === null ? '–' : <RelativeTime at={lastSeenAt} />,
            },
          ]}
        />
      </Section>
      {servers.map(
        (server) =>
          server.runtime === 'process' && <Isolation key={server.id} layers={server.isolation} />,
      )}
    </>
  );
}

function State({ server: { connected, draining } }: { server: Server }) {
  if (!connected) return <StatusDot status="not reached" tone="bad" />;
  if (draining) return <StatusDot status="takes nothing new" tone="warn" />;
  return <StatusDot status="connected" />;
}

function Isolation({ layers }: { layers: Server['isolation'] }) {
  return (
    <Section
      title="Isolation"
      description="What keeps apps and databases on this machine apart from each other."
    >
      {layers === null ? (
        <p className="instance-muted">
          It is known once something has run here since the start, and nothing is kept apart where
          Gangway does not run as root.
        </p>
      ) : (
        <Layers layers={layers} />
      )}
    </Section>
  );
}

function Layers({ layers }: { layers: NonNullable<Server['isolation']> }) {
  const lacking = layers.filter(({ holds }) => !holds);
  return (
    <>
      <p className="instance-layers">
        {lacking.length === 0 ? 'All layers hold:' : 'These hold:'}
        {layers.map(
          ({ layer, holds }) =>
            holds && (
              <Badge key={layer} tone="good">
                {layer}
              </Badge>
            ),
        )}
      </p>
      {lacking.length > 0 && (
        <ul className="instance-lacking">
          {lacking.map(({ layer, missing, consequence }) => (
            <li key={layer}>
              <Badge tone="warn">{layer}</Badge>
              <span>
                {missing} <strong>{consequence}</strong>
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
