/** Who is in the team and what they may do, and what holds for all of it. */
import { useQuery } from 'urql';
import { useSession } from '../../shell/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { TeamQuery } from './documents.ts';
import { Grants } from './grants.tsx';
import { People } from './people.tsx';
import { Registries } from './registries.tsx';
import { Roles } from './roles.tsx';
import { Settings } from './settings.tsx';

export function Page() {
  const { team, can } = useSession();
  const variables = {
    invites: can('manage_members'),
    policy: can('manage_team'),
    registries: can('manage_registries'),
  };
  const [{ data, error }, ask] = useQuery({ query: TeamQuery, variables });
  const again = (): void => ask({ requestPolicy: 'network-only' });
  if (team === null) {
    return (
      <Frame title="Team">
        <EmptyState icon="team" title="You are in no team yet">
          Ask somebody who manages a team for an invite; its link brings you in.
        </EmptyState>
      </Frame>
    );
  }
  return (
    <Frame title="Team">
      {error && <ErrorNote error={error} retry={again} />}
      {!data && !error && <Skeleton look="rows" lines={5} />}
      {data && (
        <Tabs
          label="Team"
          tabs={[
            { value: 'people', label: 'People', content: <People data={data} /> },
            { value: 'roles', label: 'Roles', content: <Roles roles={data.roles} /> },
            { value: 'folders', label: 'Folders', content: <Grants data={data} /> },
            ...(data.registries
              ? [{ value: 'registries', label: 'Registries', content: <Registries registries={data.registries} /> }] // prettier-ignore
              : []),
            { value: 'settings', label: 'Settings', content: <Settings data={data} again={again} /> }, // prettier-ignore
          ]}
        />
      )}
    </Frame>
  );
}
