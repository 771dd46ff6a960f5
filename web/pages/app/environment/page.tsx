/** The variables of an app: one by one, or as the text of a .env file. */
import { useState } from 'react';
import { useMutation, useQuery, type UseQueryResponse } from 'urql';
import { done } from '../../../api/done.ts';
import type { ResultOf, VariablesOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { Button, IconButton } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { ConfirmDialog, Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { EmptyState, Section, Skeleton } from '../../../ui/page.tsx';
import { Badge } from '../../../ui/status.tsx';
import { Table } from '../../../ui/table.tsx';
import { toast, toastError } from '../../../ui/toast.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';
import { DeleteEnv, EnvQuery, RevealEnv, type Variable } from './documents.ts';
import { TextForm } from './text-form.tsx';
import { VariableForm } from './variable-form.tsx';

export function Page({ params: { id = '' } }: PageProps) {
  // Beside the frame's own query, not behind it.
  const query = useQuery({ query: EnvQuery, variables: { appId: id } });
  return (
    <AppFrame id={id} title="Environment">
      {(app) => <Environment app={app} query={query} />}
    </AppFrame>
  );
}

type Query = UseQueryResponse<ResultOf<typeof EnvQuery>, VariablesOf<typeof EnvQuery>>;

function Environment({ app, query: [{ data, error }, ask] }: { app: App; query: Query }) {
  const [editing, setEditing] = useState<Variable | 'new' | 'bulk' | null>(null);
  const [leaving, setLeaving] = useState<Variable | null>(null);
  const [, remove] = useMutation(DeleteEnv);
  if (error) {
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  }
  if (!data) return <Skeleton lines={4} look="rows" />;
  const close = (): void => setEditing(null);
  const add = (
    <>
      <Button onClick={() => setEditing('bulk')}>
        {data.env.length === 0 ? 'Paste a .env' : 'Edit as text'}
      </Button>
      <Button look="primary" icon="plus" onClick={() => setEditing('new')}>
        Add a variable
      </Button>
    </>
  );
  const isEmpty = data.env.length === 0;
  return (
    <Section
      title="Environment"
      description="They take effect with the next deployment or restart."
      look="bare"
      actions={isEmpty ? undefined : add}
    >
      {isEmpty ? (
        <EmptyState icon="settings" title="No variables yet" action={add}>
          What the app is told by its environment: addresses, keys, switches.
        </EmptyState>
      ) : (
        <Table
          label="Variables"
          rows={data.env}
          rowKey={({ id }) => id}
          columns={[
            { key: 'key', head: 'Key', cell: ({ key }) => <code className="env-key">{key}</code> },
            { key: 'value', head: 'Value', cell: (one) => <Value app={app} variable={one} /> },
            {
              ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
              cell: (one) => (
                <span className="row-actions">
                  <IconButton
                    icon="edit"
                    label={`Change ${one.key}`}
                    onClick={() => setEditing(one)}
                  />
                  <IconButton
                    icon="trash"
                    label={`Delete ${one.key}`}
                    onClick={() => setLeaving(one)}
                  />
                </span>
              ),
            },
          ]}
        />
      )}
      <Dialog
        open={editing !== null}
        onOpenChange={close}
        look={editing === 'bulk' ? 'wide' : 'normal'}
        title={titleOf(editing)}
      >
        {editing === 'bulk' && (
          <TextForm appId={app.id} known={data.env} databases={data.databases} close={close} />
        )}
        {editing !== null && editing !== 'bulk' && (
          <VariableForm
            appId={app.id}
            variable={editing === 'new' ? null : editing}
            databases={data.databases}
            close={close}
          />
        )}
      </Dialog>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Delete ${leaving?.key ?? ''}?`}
        action="Delete the variable"
        danger
        onConfirm={async () => {
          await done(remove({ appId: app.id, key: leaving?.key ?? '' }));
          toast(`${leaving?.key ?? ''} is deleted.`);
        }}
      >
        The app has it until it is deployed or restarted.
      </ConfirmDialog>
    </Section>
  );
}

function titleOf(editing: Variable | 'new' | 'bulk' | null): string {
  if (editing === 'bulk') return 'All variables';
  return editing === 'new' || editing === null ? 'Add a variable' : `Change ${editing.key}`;
}

function Value({ app, variable }: { app: App; variable: Variable }) {
  const { key, masked, value, isSecret, targets } = variable;
  const [shown, setShown] = useState<string | null>(null);
  const [{ fetching }, reveal] = useMutation(RevealEnv);
  const show = async (): Promise<void> => {
    try {
      setShown((await done(reveal({ appId: app.id, key }))).revealEnv);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <span className="env-value">
      <code>{shown ?? value ?? masked}</code>
      {isSecret && <Badge>secret</Badge>}
      {targets.length === 1 && (
        <Badge>{targets[0] === 'preview' ? 'previews alone' : 'not in previews'}</Badge>
      )}
      {shown !== null && <CopyButton text={shown} label={`Copy ${key}`} />}
      {value === null && mayOn(app, 'reveal_secrets') && (
        <IconButton
          icon="eye"
          label={shown === null ? `Show ${key}` : `Hide ${key}`}
          size="small"
          busy={fetching}
          onClick={() => (shown === null ? void show() : setShown(null))}
        />
      )}
    </span>
  );
}
