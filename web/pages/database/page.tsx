/** The page of one database: its address and state first, and a tab for each thing one does with it. */
import { useQuery } from 'urql';
import { NotFound } from '../../shell/pages.tsx';
import type { PageProps } from '../../shell/routes.ts';
import { useSession } from '../../shell/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Page as Frame, Skeleton } from '../../ui/page.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { TabLinks } from '../../ui/tabs.tsx';
import { Terminal } from '../../ui/terminal.tsx';
import { BackupsTab } from './backups-tab.tsx';
import { type Database, DatabaseQuery } from './documents.ts';
import { MetricsTab } from './metrics-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { RunButton } from './run-button.tsx';
import { SettingsTab } from './settings-tab.tsx';

const crumbs = [{ href: '/', label: 'Overview' }];

export function Page({ params: { id = '', tab = '' } }: PageProps) {
  const [{ data, error }, again] = useQuery({ query: DatabaseQuery, variables: { id } });
  const database = data?.database;
  if (database === null) return <NotFound what="database" />;
  if (database === undefined) {
    return (
      <Frame title="Database" crumbs={crumbs}>
        {error ? (
          <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />
        ) : (
          <Skeleton lines={5} />
        )}
      </Frame>
    );
  }
  return (
    <Frame
      title={database.name}
      crumbs={crumbs}
      beside={<StatusDot status={database.status} />}
      actions={<RunButton database={database} />}
    >
      <Tabs id={id} />
      {database.error !== null && (
        <p role="status" className="database-error">
          {database.error}
        </p>
      )}
      <Content database={database} tab={tab} />
    </Frame>
  );
}

function Tabs({ id }: { id: string }) {
  const { can } = useSession();
  const base = `/databases/${id}`;
  const tabs = [
    { href: base, label: 'Overview' },
    can('open_database_console') && { href: `${base}/console`, label: 'Console' },
    can('view_logs') && { href: `${base}/log`, label: 'Log' },
    can('view_metrics') && { href: `${base}/metrics`, label: 'Metrics' },
    { href: `${base}/backups`, label: 'Backups' },
    { href: `${base}/settings`, label: 'Settings' },
  ].filter((tab) => tab !== false);
  return <TabLinks label="Database" tabs={tabs} />;
}

function Content({ database, tab }: { database: Database; tab: string }) {
  const { id, name, status } = database;
  switch (tab) {
    case '':
      return <OverviewTab database={database} />;
    case 'console':
      // Another state is another console: what was refused before may be opened now.
      return (
        <Terminal
          key={status}
          attach={`/api/databases/${id}/attach`}
          label={`Console of ${name}`}
        />
      );
    case 'metrics':
      return <MetricsTab database={database} />;
    case 'backups':
      return <BackupsTab id={id} />;
    case 'settings':
      return <SettingsTab database={database} />;
    default:
      return <NotFound what="page of this database" />;
  }
}
