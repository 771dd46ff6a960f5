/** Owns what is around each page of a database: its name and state, what can be done with it, and its other pages. */
import type { ReactNode } from 'react';
import { useQuery } from 'urql';
import { NotFound } from '../../shell/pages.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Page, Skeleton } from '../../ui/page.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { TabLinks } from '../../ui/tabs.tsx';
import { type Database, DatabaseQuery, mayOn } from './documents.ts';
import { RunButton } from './run-button.tsx';

const crumbs = [{ href: '/', label: 'Overview' }];

interface DatabaseFrameProps {
  id: string;
  /** Of the page, as its tab says; empty for the overview. */
  title?: string;
  width?: 'normal' | 'full';
  /** Gets the database, once it is known. */
  children: (database: Database) => ReactNode;
}

export function DatabaseFrame({ id, title = '', width = 'normal', children }: DatabaseFrameProps) {
  const [{ data, error }, again] = useQuery({ query: DatabaseQuery, variables: { id } });
  const database = data?.database;
  if (database === null) return <NotFound what="database" />;
  if (database === undefined) {
    return (
      <Page title="Database" crumbs={crumbs} width={width}>
        {error ? (
          <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />
        ) : (
          <Skeleton lines={5} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={database.name}
      tab={title}
      crumbs={crumbs}
      width={width}
      beside={<StatusDot status={database.status} />}
      actions={<RunButton database={database} />}
    >
      <Tabs database={database} />
      {database.error !== null && (
        <p role="status" className="database-error">
          {database.error}
        </p>
      )}
      {children(database)}
    </Page>
  );
}

function Tabs({ database }: { database: Database }) {
  const base = `/databases/${database.id}`;
  const tabs = [
    { href: base, label: 'Overview' },
    mayOn(database, 'open_database_console') && { href: `${base}/console`, label: 'Console' },
    mayOn(database, 'view_logs') && { href: `${base}/log`, label: 'Log' },
    mayOn(database, 'view_metrics') && { href: `${base}/metrics`, label: 'Metrics' },
    { href: `${base}/backups`, label: 'Backups' },
    { href: `${base}/settings`, label: 'Settings' },
  ].filter((tab) => tab !== false);
  return <TabLinks label="Database" tabs={tabs} />;
}
