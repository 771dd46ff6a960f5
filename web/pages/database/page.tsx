/** The pages of one database: a tab for each thing one does with it. Its log is beside that of apps. */
import { NotFound } from '../../shell/pages.tsx';
import type { PageProps } from '../../shell/routes.ts';
import { Terminal } from '../../ui/terminal.tsx';
import { BackupsPage } from './backups-tab.tsx';
import type { Database } from './documents.ts';
import { DatabaseFrame } from './frame.tsx';
import { MetricsPage } from './metrics-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { SettingsPage } from './settings-tab.tsx';

const titles: Readonly<Record<string, string>> = {
  console: 'Console',
};

export function Page({ params: { id = '', tab = '' } }: PageProps) {
  // They ask for more than what the frame knows.
  if (tab === 'metrics') return <MetricsPage id={id} />;
  if (tab === 'backups') return <BackupsPage id={id} />;
  if (tab === 'settings') return <SettingsPage id={id} />;
  return (
    <DatabaseFrame id={id} title={titles[tab] ?? ''}>
      {(database) => <Content database={database} tab={tab} />}
    </DatabaseFrame>
  );
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
    default:
      return <NotFound what="page of this database" />;
  }
}
