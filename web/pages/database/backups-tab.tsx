/** Owns the latest backups of a database, and the way to all of them. */
import { useQuery, type UseQueryResponse } from 'urql';
import { ButtonLink } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { bytesInWords } from '../../ui/bytes.ts';
import { EmptyState, Section, Skeleton } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import type { ResultOf, VariablesOf } from '../../api/graphql.ts';
import { BackupsQuery } from './documents.ts';
import { DatabaseFrame } from './frame.tsx';

type Run = ResultOf<typeof BackupsQuery>['backupRuns']['nodes'][number];

const columns: readonly Column<Run>[] = [
  {
    key: 'status',
    head: 'State',
    cell: ({ status }) => (
      <StatusDot status={status} {...(status === 'running' && { tone: 'busy' as const })} />
    ),
  },
  { key: 'started', head: 'Begun', cell: ({ startedAt }) => <RelativeTime at={startedAt} /> },
  {
    key: 'size',
    head: 'Size',
    align: 'end',
    cell: ({ sizeBytes }) => (sizeBytes === null ? '–' : bytesInWords(sizeBytes)),
  },
  {
    key: 'note',
    head: 'Note',
    lesser: true,
    cell: ({ error, encrypted }) => error ?? (encrypted ? 'Encrypted' : ''),
  },
];

export function BackupsPage({ id }: { id: string }) {
  // Beside the frame's own query, not behind it.
  const query = useQuery({ query: BackupsQuery, variables: { id } });
  return (
    <DatabaseFrame id={id} title="Backups">
      {() => <Backups query={query} />}
    </DatabaseFrame>
  );
}

type Query = UseQueryResponse<ResultOf<typeof BackupsQuery>, VariablesOf<typeof BackupsQuery>>;

function Backups({ query: [{ data, error }, again] }: { query: Query }) {
  const runs = data?.backupRuns.nodes;
  const all = (
    <ButtonLink href="/backups" icon="backup">
      All backups
    </ButtonLink>
  );
  return (
    <Section title="Latest backups" look="bare" actions={all}>
      {error && <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {runs === undefined && !error && <Skeleton lines={3} look="rows" />}
      {runs?.length === 0 && (
        <EmptyState icon="backup" title="No backup yet" action={all}>
          Name a destination and a schedule, and it is backed up by itself.
        </EmptyState>
      )}
      {runs !== undefined && runs.length > 0 && (
        <Table label="Latest backups" columns={columns} rows={runs} rowKey={(run) => run.id} />
      )}
    </Section>
  );
}
