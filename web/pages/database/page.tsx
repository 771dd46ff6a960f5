/** The pages of one database: a tab for each thing one does with it. Its log is beside that of apps. */
import { type ReactNode, useState } from 'react';
import { useQuery } from 'urql';
import { NotFound } from '../../shell/pages.tsx';
import type { PageProps } from '../../shell/routes.ts';
import { Terminal } from '../../ui/terminal.tsx';
import { BackupsTab } from './backups-tab.tsx';
import { BackupsQuery, type Database, MetricsQuery } from './documents.ts';
import { DatabaseFrame } from './frame.tsx';
import { MetricsTab } from './metrics-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { SettingsTab } from './settings-tab.tsx';

const titles: Readonly<Record<string, string>> = {
  console: 'Console',
  metrics: 'Metrics',
  backups: 'Backups',
  settings: 'Settings',
};

export function Page({ params: { id = '', tab = '' } }: PageProps) {
  const [minutes, setMinutes] = useState(60);
  // Beside the frame's own query, not behind it.
  const metrics = useQuery({
    query: MetricsQuery,
    variables: { id, minutes },
    pause: tab !== 'metrics',
  });
  const backups = useQuery({ query: BackupsQuery, variables: { id }, pause: tab !== 'backups' });
  return (
    <DatabaseFrame id={id} title={titles[tab] ?? ''}>
      {(database) => (
        <Content
          database={database}
          tab={tab}
          metrics={<MetricsTab {...{ database, minutes, setMinutes }} query={metrics} />}
          backups={<BackupsTab query={backups} />}
        />
      )}
    </DatabaseFrame>
  );
}

interface ContentProps {
  database: Database;
  tab: string;
  metrics: ReactNode;
  backups: ReactNode;
}

function Content({ database, tab, metrics, backups }: ContentProps) {
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
      return metrics;
    case 'backups':
      return backups;
    case 'settings':
      return <SettingsTab database={database} />;
    default:
      return <NotFound what="page of this database" />;
  }
}
