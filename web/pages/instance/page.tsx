/** The instance itself, for who administers it: whether it is well, what it runs on, and its settings. */
import { useQuery } from 'urql';
import { useSession } from '../../shell/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { useRenewed } from '../../ui/usage-charts.tsx';
import { Certificates } from './certificates.tsx';
import { InstanceQuery, InstanceStatusQuery } from './documents.ts';
import { Health, useOwnCheck } from './health.tsx';
import { Machine } from './machine.tsx';
import { Servers } from './servers.tsx';
import { SettingsForm } from './settings.tsx';
import { Versions } from './versions.tsx';

export function Page() {
  const { me } = useSession();
  if (me.isInstanceAdmin) return <Instance />;
  return (
    <Frame title="Instance">
      <EmptyState icon="shield" title="This page is for the instance administrator">
        Whoever set this Gangway up sees here how it is, and changes its settings.
      </EmptyState>
    </Frame>
  );
}

function Instance() {
  const { team } = useSession();
  const variables = { inTeam: team !== null };
  const [{ data, error }, ask] = useQuery({ query: InstanceQuery, variables });
  const [status, askStatus] = useQuery({ query: InstanceStatusQuery });
  useRenewed(askStatus);
  // Whoever added a server waits for it to connect.
  useRenewed(ask);
  const own = useOwnCheck(status.data);
  const again = (): void => {
    ask({ requestPolicy: 'network-only' });
    askStatus({ requestPolicy: 'network-only' });
  };
  const failed = error ?? status.error;
  const now = status.data?.instanceStatus;
  return (
    <Frame title="Instance">
      {failed && <ErrorNote error={failed} retry={again} />}
      {(!data || !now) && !failed && <Skeleton look="rows" lines={6} />}
      {data && now && (
        <>
          <Health own={own} status={now} instance={data} />
          <div className="instance-columns">
            <Machine machine={now.machine} />
            <Versions status={now} />
          </div>
          <Servers servers={data.servers ?? []} />
          <Certificates certificates={data.instanceSettings.certificates ?? []} />
          <SettingsForm settings={data.instanceSettings} />
        </>
      )}
    </Frame>
  );
}
