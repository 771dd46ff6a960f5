/** Who changed what in the team, the newest first. */
import { useState } from 'react';
import { useQuery } from 'urql';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SearchField } from '../../ui/field.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { actionWords, actorOf, targetOf } from './words.ts';

const ActivityQuery = graphql(`
  query Activity($after: String) {
    activity(first: 100, after: $after) {
      nodes {
        id
        action
        actor
        at
        target
        details
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

type Entry = ResultOf<typeof ActivityQuery>['activity']['nodes'][number];

export function Page() {
  const { can } = useSession();
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const [search, setSearch] = useState('');
  if (!can('view_activity')) {
    return (
      <Frame title="Activity">
        <EmptyState icon="activity" title="You may not see the activity">
          It takes the right “See the activity”, which an owner of the team can give you.
        </EmptyState>
      </Frame>
    );
  }
  return (
    <Frame title="Activity">
      <div className="activity-tools">
        <SearchField
          label="Filter what is loaded"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      {cursors.map((after, i) => (
        <Entries
          key={after ?? ''}
          after={after}
          search={search.trim().toLowerCase()}
          onMore={i === cursors.length - 1 ? (next) => setCursors([...cursors, next]) : undefined}
        />
      ))}
    </Frame>
  );
}

interface EntriesProps {
  after: string | null;
  search: string;
  /** Present for the last page. */
  onMore: ((after: string) => void) | undefined;
}

function Entries({ after, search, onMore }: EntriesProps) {
  const [{ data, error }, ask] = useQuery({ query: ActivityQuery, variables: { after } });
  if (error) {
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  }
  if (!data) return <Skeleton look="rows" lines={after === null ? 8 : 2} />;
  const { nodes, pageInfo } = data.activity;
  const shown = nodes.filter((entry) => textOf(entry).includes(search));
  return (
    <>
      <ol className="activity">
        {shown.map((entry) => (
          <EntryView key={entry.id} entry={entry} />
        ))}
      </ol>
      {after === null && nodes.length === 0 && (
        <EmptyState icon="activity" title="Nothing has happened yet">
          Each change in the team is written down here, with who made it.
        </EmptyState>
      )}
      {onMore && pageInfo.hasNextPage && (
        <Button onClick={() => onMore(pageInfo.endCursor ?? '')}>Show older</Button>
      )}
      {onMore && nodes.length > 0 && shown.length === 0 && (
        <p className="activity-none">Nothing that is loaded matches “{search}”.</p>
      )}
    </>
  );
}

function EntryView({ entry }: { entry: Entry }) {
  const { name, by } = actorOf(entry.actor);
  const target = entry.target === null ? null : targetOf(entry.target);
  const details = entry.details === null ? null : JSON.stringify(entry.details, null, 2);
  return (
    <li className="activity-entry">
      <div className="activity-line">
        <p className="activity-what">
          <strong>{actionWords(entry.action)}</strong>{' '}
          {target !== null && <bdi title={target.exact}>{target.name}</bdi>}
        </p>
        <p className="activity-actor">
          <bdi>{name}</bdi>
          {by !== null && <> · {by}</>}
        </p>
        <RelativeTime at={entry.at} />
      </div>
      {details !== null && details !== '{}' && (
        <details>
          <summary>Details</summary>
          <pre tabIndex={0}>{details}</pre>
        </details>
      )}
    </li>
  );
}

function textOf({ action, actor, target }: Entry): string {
  return `${actionWords(action)} ${action} ${actor} ${target ?? ''}`.toLowerCase();
}
