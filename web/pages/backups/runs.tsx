/** The backups that ran or run, with what can be done with each. */
import { useState } from 'react';
import { useMutation, useQuery, type UseQueryResponse } from 'urql';
import { done } from '../../api/done.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { bytesInWords } from '../../ui/bytes.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Menu, MenuItem, MenuLink } from '../../ui/menu.tsx';
import { EmptyState, Skeleton } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import {
  type BackupsAnswer,
  destinationName,
  type Run,
  RunsQuery,
  targetName,
} from './documents.ts';
import { RestoreDialog } from './restore.tsx';

const CancelRun = graphql(`
  mutation CancelBackupRun($id: ID!) {
    cancelBackupRun(id: $id)
  }
`);
const DeleteRun = graphql(`
  mutation DeleteBackupRun($runId: ID!) {
    deleteBackupRun(runId: $runId)
  }
`);
const isUnderWay = ({ status }: Run): boolean => status === 'running' || status === 'verifying';

interface RunsProps {
  data: BackupsAnswer;
  /** Leads to where a destination is made. */
  onDestination: () => void;
}

export function Runs({ data, newest, onDestination }: RunsProps & { newest: RunsAnswer }) {
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  return (
    <>
      {cursors.map((after, i) => {
        const onMore =
          i === cursors.length - 1 ? (next: string) => setCursors([...cursors, next]) : undefined;
        const props = { data, onDestination, onMore };
        if (after === null) return <RunPage key="" {...props} query={newest} />;
        return <OlderRuns key={after} {...props} after={after} />;
      })}
    </>
  );
}

export type RunsAnswer = UseQueryResponse<
  ResultOf<typeof RunsQuery>,
  VariablesOf<typeof RunsQuery>
>;

function OlderRuns({ after, ...props }: Omit<RunPageProps, 'query'> & { after: string }) {
  return <RunPage {...props} query={useQuery({ query: RunsQuery, variables: { after } })} />;
}

interface RunPageProps extends RunsProps {
  query: RunsAnswer;
  onMore: ((after: string) => void) | undefined;
}

function RunPage({ query: [{ data: answer, error }, ask], ...props }: RunPageProps) {
  const { data, onDestination, onMore } = props;
  const [restoring, setRestoring] = useState<Run | null>(null);
  const [leaving, setLeaving] = useState<Run | null>(null);
  const [, remove] = useMutation(DeleteRun);
  const again = (): void => ask({ requestPolicy: 'network-only' });
  if (error) return <ErrorNote error={error} retry={again} />;
  if (!answer) return <Skeleton look="rows" lines={4} />;
  const { nodes, pageInfo } = answer.backupRuns;
  if (nodes.length === 0) return <NoRuns data={data} onDestination={onDestination} />;
  return (
    <>
      <Table
        label="Runs"
        rows={nodes}
        rowKey={({ id }) => id}
        columns={[
          { key: 'what', head: 'What', cell: (run) => <bdi>{targetName(run, data)}</bdi> },
          { key: 'state', head: 'State', cell: (run) => <State run={run} /> },
          { key: 'where', head: 'Where', lesser: true, cell: (run) => <bdi>{destinationName(run.destinationId, data)}</bdi> }, // prettier-ignore
          { key: 'size', head: 'Size', lesser: true, cell: ({ sizeBytes }) => (sizeBytes === null ? '–' : bytesInWords(sizeBytes)) }, // prettier-ignore
          { key: 'began', head: 'Began', lesser: true, cell: ({ startedAt }) => <RelativeTime at={startedAt} /> }, // prettier-ignore
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: (run) => (
              <RunMenu
                run={run}
                data={data}
                onRestore={() => setRestoring(run)}
                onDelete={() => setLeaving(run)}
              />
            ),
          },
        ]}
      />
      {onMore && pageInfo.hasNextPage && (
        <div className="backups-more">
          <Button onClick={() => onMore(pageInfo.endCursor ?? '')}>Show older</Button>
        </div>
      )}
      {restoring !== null && (
        <RestoreDialog
          run={restoring}
          name={targetName(restoring, data)}
          onClose={() => setRestoring(null)}
        />
      )}
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title="Delete this backup?"
        action="Delete the backup"
        danger
        onConfirm={async () => {
          await done(remove({ runId: leaving?.id ?? '' }));
          again();
          toast('The backup is deleted.');
        }}
      >
        What is stored goes with it. There is no way back.
      </ConfirmDialog>
    </>
  );
}

function NoRuns({ data, onDestination }: RunsProps) {
  const { can } = useSession();
  const needsPlace = data.backupDestinations.length === 0;
  const action = needsPlace && can('manage_backup_destinations') && (
    <Button look="primary" icon="plus" onClick={onDestination}>
      Choose where backups go
    </Button>
  );
  return (
    <EmptyState icon="backup" title="No backups yet" action={action}>
      {needsPlace
        ? 'First choose where they go: a folder of this machine, or a bucket that speaks S3.'
        : 'Back something up now, or make a schedule.'}
    </EmptyState>
  );
}

function State({ run }: { run: Run }) {
  return (
    <span className="backups-state">
      <StatusDot status={run.status} {...(run.status === 'running' && { tone: 'busy' as const })} />
      {isUnderWay(run) && run.progressBytes !== null && (
        <small>{bytesInWords(run.progressBytes)}</small>
      )}
      {run.error !== null && <small className="backups-error">{run.error}</small>}
    </span>
  );
}

interface RunMenuProps {
  run: Run;
  data: BackupsAnswer;
  onRestore: () => void;
  onDelete: () => void;
}

function RunMenu({ run, data, onRestore, onDelete }: RunMenuProps) {
  const { can } = useSession();
  const [, cancel] = useMutation(CancelRun);
  const stop = async (): Promise<void> => {
    try {
      await done(cancel({ id: run.id }));
    } catch (thrown) {
      toastError(thrown);
    }
  };
  const [mayManage, mayRestore] = [can('manage_backups'), can('restore_backups')];
  if (isUnderWay(run)) {
    return mayManage ? (
      <Button size="small" onClick={() => void stop()}>
        Cancel
      </Button>
    ) : null;
  }
  const isWhole = run.status === 'success';
  const isHere = data.backupDestinations.some(
    ({ id, kind }) => id === run.destinationId && kind === 'server',
  );
  if (!mayManage && !(mayRestore && isWhole)) return null;
  return (
    <Menu trigger={<IconButton icon="more" label={`Actions of ${targetName(run, data)}`} />}>
      {mayRestore && isWhole && !run.instance && (
        <MenuItem icon="refresh" onSelect={onRestore}>
          Restore…
        </MenuItem>
      )}
      {mayRestore && isWhole && isHere && (
        <MenuLink icon="download" href={`/api/backups/${run.id}/download`} outside>
          Download
        </MenuLink>
      )}
      {mayManage && (
        <MenuItem icon="trash" danger onSelect={onDelete}>
          Delete…
        </MenuItem>
      )}
    </Menu>
  );
}
