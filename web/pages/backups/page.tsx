/** Backups of the team: what ran, when the next ones run, where they go, and the way back. */
import { useState } from 'react';
import { useQuery } from 'urql';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Page as Frame, Skeleton } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Destinations } from './destinations.tsx';
import { BackupsQuery, RunsQuery } from './documents.ts';
import { RunForm } from './run-form.tsx';
import { Runs } from './runs.tsx';
import { Schedules } from './schedules.tsx';

export function Page() {
  const { can } = useSession();
  const [{ data, error }, ask] = useQuery({ query: BackupsQuery });
  // Beside the other one, not behind it.
  const newest = useQuery({ query: RunsQuery, variables: { after: null } });
  const [running, setRunning] = useState(false);
  const [tab, setTab] = useState('runs');
  const mayRun = can('manage_backups') && (data?.backupDestinations.length ?? 0) > 0;
  const run = mayRun && (
    <Button look="primary" icon="backup" onClick={() => setRunning(true)}>
      Back up now
    </Button>
  );
  return (
    <Frame title="Backups" actions={run}>
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      {!data && !error && <Skeleton look="rows" lines={5} />}
      {data && (
        <Tabs
          label="Backups"
          value={tab}
          onChange={setTab}
          tabs={[
            { value: 'runs', label: 'Runs', content: <Runs data={data} newest={newest} onDestination={() => setTab('destinations')} /> }, // prettier-ignore
            { value: 'schedules', label: 'Schedules', content: <Schedules data={data} /> },
            { value: 'destinations', label: 'Destinations', content: <Destinations destinations={data.backupDestinations} /> }, // prettier-ignore
          ]}
        />
      )}
      <Dialog open={running} onOpenChange={setRunning} title="Back up now">
        {data && (
          <RunForm
            data={data}
            close={() => setRunning(false)}
            onBegun={() => {
              setRunning(false);
              setTab('runs');
            }}
          />
        )}
      </Dialog>
    </Frame>
  );
}
