/** The first page: all apps and databases of the team, by folder, with their state as it is now. */
import { useDeferredValue, useMemo, useState } from 'react';
import { useQuery } from 'urql';
import { useAllApps } from '../../api/all-apps.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SearchField, SelectField } from '../../ui/field.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { useSession } from '../../shell/session.ts';
import { DeleteFolder } from './delete-folder.tsx';
import { NewFolder } from './new-folder.tsx';
import { type FolderOf, ThingList } from './thing-list.tsx';
import {
  type Order,
  OverviewApps,
  OverviewRest,
  rowsOf,
  thingOfApp,
  thingOfDatabase,
} from './things.ts';

const orders = [
  { value: 'name', label: 'By name' },
  { value: 'state', label: 'By state' },
  { value: 'changed', label: 'Newest first' },
];

export function Page() {
  const { team, can } = useSession();
  const { apps, error, again } = useAllApps(OverviewApps);
  const [rest, askRest] = useQuery({ query: OverviewRest });
  const [search, setSearch] = useState('');
  const [order, setOrder] = useState<Order>('name');
  const [leaving, setLeaving] = useState<FolderOf | null>(null);
  const wanted = useDeferredValue(search);
  const databases = rest.data?.databases;
  const folders = rest.data?.folders;
  const things = useMemo(() => {
    if (apps === undefined || databases === undefined) return null;
    return [...apps.map(thingOfApp), ...databases.map(thingOfDatabase)];
  }, [apps, databases]);
  const rows = useMemo(
    () => (things === null ? [] : rowsOf(things, folders ?? [], { search: wanted, order })),
    [things, folders, wanted, order],
  );
  const failed = error ?? rest.error;
  if (team === null) return <NoTeam />;
  const actions = (
    <>
      {can('create_databases') && <ButtonLink href="/databases/new">New database</ButtonLink>}
      {can('create_apps') && (
        <ButtonLink href="/apps/new" look="primary" icon="plus">
          New app
        </ButtonLink>
      )}
    </>
  );
  const isEmpty = things?.length === 0 && folders?.length === 0;
  return (
    <Frame title="Overview" actions={isEmpty ? null : actions}>
      {failed && (
        <ErrorNote
          error={failed}
          retry={() => {
            again();
            askRest({ requestPolicy: 'network-only' });
          }}
        />
      )}
      {things === null && !failed && <Skeleton lines={5} look="rows" />}
      {isEmpty && <FirstApp />}
      {things !== null && !isEmpty && (
        <>
          <div className="overview-tools">
            <SearchField
              label="Search apps and databases"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
            <SelectField
              label="Order"
              quiet
              options={orders}
              value={order}
              onChange={(event) => setOrder(event.target.value as Order)}
            />
            {can('manage_folders') && <NewFolder folders={folders ?? []} />}
          </div>
          <p role="status" className="only-read">
            {`${String(rows.filter(({ kind }) => kind === 'thing').length)} of ${String(things.length)} shown`}
          </p>
          {rows.length === 0 ? (
            <EmptyState icon="search" title={`Nothing matches “${wanted}”`} />
          ) : (
            <ThingList rows={rows} onDelete={can('manage_folders') ? setLeaving : undefined} />
          )}
          <DeleteFolder folder={leaving} close={() => setLeaving(null)} />
        </>
      )}
    </Frame>
  );
}

function FirstApp() {
  const { can, team } = useSession();
  const mayCreate = can('create_apps');
  return (
    <EmptyState
      icon="rocket"
      title={mayCreate ? 'Deploy your first app' : 'Nothing here yet'}
      action={
        mayCreate && (
          <>
            <ButtonLink href="/apps/new" look="primary" icon="plus">
              New app
            </ButtonLink>
            {can('create_databases') && (
              <ButtonLink href="/databases/new" icon="database">
                New database
              </ButtonLink>
            )}
          </>
        )
      }
    >
      {mayCreate
        ? 'Drop a folder of code, name a git repository or an image: Gangway builds it and gives it an address.'
        : `There is no app or database in ${team?.name ?? 'the team'} that you may see.`}
    </EmptyState>
  );
}

function NoTeam() {
  return (
    <Frame title="Overview">
      <EmptyState icon="team" title="You are in no team yet">
        Ask somebody who manages a team for an invite; its link brings you in.
      </EmptyState>
    </Frame>
  );
}
