/** The branches of an app that are, or were, shown at addresses of their own. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { Link } from 'wouter';
import { done } from '../../../api/done.ts';
import { Button } from '../../../ui/button.tsx';
import { ConfirmDialog } from '../../../ui/dialog.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { EmptyState } from '../../../ui/page.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { StatusDot } from '../../../ui/status.tsx';
import { type Column, Table } from '../../../ui/table.tsx';
import { toast, toastError } from '../../../ui/toast.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { ApprovePreview, ClosePreview, type Preview } from './documents.ts';

interface PreviewsProps {
  app: App;
  previews: readonly Preview[];
  patterns: readonly string[];
}

export function Previews({ app, previews, patterns }: PreviewsProps) {
  const [closing, setClosing] = useState<Preview | null>(null);
  const [, close] = useMutation(ClosePreview);
  if (previews.length === 0) return <None app={app} patterns={patterns} />;
  return (
    <>
      <Table
        label="Previews"
        rows={previews}
        rowKey={({ id }) => id}
        columns={columnsFor(app, setClosing)}
      />
      <ConfirmDialog
        open={closing !== null}
        onOpenChange={() => setClosing(null)}
        title={`Close the preview of ${closing?.branch ?? ''}?`}
        action="Close it"
        danger
        onConfirm={async () => {
          await done(close({ id: closing?.id ?? '' }));
          toast(`The preview of ${closing?.branch ?? ''} is closed.`);
        }}
      >
        What it keeps on disk and its log go with it. The next push to the branch opens another.
      </ConfirmDialog>
    </>
  );
}

function None({ app, patterns }: Omit<PreviewsProps, 'previews'>) {
  if (patterns.length > 0) {
    return (
      <EmptyState icon="git" title="No branch is shown yet">
        The next push to {patterns.join(', ')} opens a preview.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="git" title="No branches are shown as previews">
      {mayOn(app, 'configure_apps') ? (
        <>
          Name branches in the <Link href={`/apps/${app.id}/settings`}>settings</Link>, such as
          feat/*: each push to one opens a preview.
        </>
      ) : (
        'Somebody who may configure the app can name branches for it.'
      )}
    </EmptyState>
  );
}

function columnsFor(app: App, onClose: (preview: Preview) => void): readonly Column<Preview>[] {
  return [
    { key: 'branch', head: 'Branch', cell: (preview) => <Branch preview={preview} /> },
    { key: 'state', head: 'State', cell: ({ status }) => <StatusDot status={status} /> },
    {
      key: 'at',
      head: 'Address',
      lesser: true,
      cell: ({ url }) =>
        url !== null && (
          <a href={url} target="_blank" rel="noreferrer">
            {url.replace(/^https?:\/\//, '')} <Icon name="external" size={14} />
          </a>
        ),
    },
    {
      key: 'when',
      head: 'Used',
      lesser: true,
      cell: ({ updatedAt }) => <RelativeTime at={updatedAt} />,
    },
    {
      key: 'do',
      head: 'Actions',
      quietHead: true,
      align: 'end',
      cell: (preview) =>
        mayOn(app, 'deploy_apps') &&
        preview.status !== 'closed' && (
          <div className="row-actions">
            {preview.status === 'awaiting_approval' && <ApproveButton preview={preview} />}
            <Button size="small" onClick={() => onClose(preview)}>
              Close
            </Button>
          </div>
        ),
    },
  ];
}

/** By its id it is an app, once something of it was deployed. */
function Branch({ preview: { id, branch, url, commitSha } }: { preview: Preview }) {
  return (
    <span className="app-deployment">
      {url === null ? (
        <bdi>{branch}</bdi>
      ) : (
        <Link href={`/apps/${id}`}>
          <bdi>{branch}</bdi>
        </Link>
      )}
      {commitSha !== null && <code className="app-muted">{commitSha.slice(0, 7)}</code>}
    </span>
  );
}

function ApproveButton({ preview: { id, branch } }: { preview: Preview }) {
  const [{ fetching }, approve] = useMutation(ApprovePreview);
  const run = async (): Promise<void> => {
    try {
      await done(approve({ id }));
      toast(`The preview of ${branch} is built.`);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Button size="small" look="primary" icon="check" busy={fetching} onClick={() => void run()}>
      Approve
    </Button>
  );
}
