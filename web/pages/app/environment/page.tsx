/** The variables of an app: one by one, or as the text of a .env file. */
import { type FormEvent, useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { done } from '../../../api/done.ts';
import { type ApiError, toApiError } from '../../../api/errors.ts';
import { graphql, type ResultOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { Button, IconButton } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Check, TextArea, TextField } from '../../../ui/field.tsx';
import { EmptyState, Section, Skeleton } from '../../../ui/page.tsx';
import { Badge } from '../../../ui/status.tsx';
import { Table } from '../../../ui/table.tsx';
import { toast, toastError } from '../../../ui/toast.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';
import { parseDotEnv } from './dot-env.ts';

const EnvFields = graphql(`
  fragment EnvFields on EnvVar {
    id
    key
    masked
    isSecret
    updatedAt
  }
`);
const EnvQuery = graphql(
  `
    query AppEnvironment($appId: ID!) {
      env(appId: $appId) {
        ...EnvFields
      }
      databases {
        id
        name
      }
    }
  `,
  [EnvFields],
);
const UpsertEnv = graphql(
  `
    mutation UpsertEnv($appId: ID!, $entries: [EnvEntryInput!]!) {
      upsertEnv(appId: $appId, entries: $entries) {
        ...EnvFields
      }
    }
  `,
  [EnvFields],
);
const DeleteEnv = graphql(`
  mutation DeleteEnv($appId: ID!, $key: String!) {
    deleteEnv(appId: $appId, key: $key)
  }
`);
const RevealEnv = graphql(`
  mutation RevealEnv($appId: ID!, $key: String!) {
    revealEnv(appId: $appId, key: $key)
  }
`);

type Variable = ResultOf<typeof EnvFields>;
type Databases = ResultOf<typeof EnvQuery>['databases'];

export function Page({ params: { id = '' } }: PageProps) {
  return (
    <AppFrame id={id} title="Environment">
      {(app) => <Environment app={app} />}
    </AppFrame>
  );
}

function Environment({ app }: { app: App }) {
  const [{ data, error }, ask] = useQuery({ query: EnvQuery, variables: { appId: app.id } });
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
      <Button onClick={() => setEditing('bulk')}>Paste a .env</Button>
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
        {editing === 'bulk' && <BulkForm appId={app.id} known={data.env} close={close} />}
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
  if (editing === 'bulk') return 'Paste a .env';
  return editing === 'new' || editing === null ? 'Add a variable' : `Change ${editing.key}`;
}

function Value({ app, variable: { key, masked, isSecret } }: { app: App; variable: Variable }) {
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
      <code>{shown ?? masked}</code>
      {isSecret && <Badge>secret</Badge>}
      {shown !== null && <CopyButton text={shown} label={`Copy ${key}`} />}
      {mayOn(app, 'reveal_secrets') && (
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

interface VariableFormProps {
  appId: string;
  variable: Variable | null;
  databases: Databases;
  close: () => void;
}

function VariableForm({ appId, variable, databases, close }: VariableFormProps) {
  const [key, setKey] = useState(variable?.key ?? '');
  const [value, setValue] = useState('');
  const [isSecret, setSecret] = useState(variable?.isSecret ?? true);
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, upsert] = useMutation(UpsertEnv);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      await done(upsert({ appId, entries: [{ key, value, isSecret }] }));
      close();
      toast(`${key} is saved.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Key"
        required
        autoFocus={variable === null}
        readOnly={variable !== null}
        spellCheck={false}
        autoComplete="off"
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      <TextArea
        label={variable === null ? 'Value' : 'New value'}
        spellCheck={false}
        autoFocus={variable !== null}
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
      {databases.length > 0 && (
        <div className="env-references">
          <span className="field-hint">Refer to a database:</span>
          {databases.map(({ id, name }) => (
            <Button
              key={id}
              size="small"
              icon="database"
              onClick={() => setValue((before) => `${before}\${database.${id}.url}`)}
            >
              {name}
            </Button>
          ))}
        </div>
      )}
      <Check
        label="Secret"
        hint="It is masked everywhere, and only shown to whoever may reveal secrets."
        checked={isSecret}
        onChange={(event) => setSecret(event.target.checked)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching} disabled={key === ''}>
          Save
        </Button>
      </DialogActions>
    </form>
  );
}

interface BulkFormProps {
  appId: string;
  known: readonly Variable[];
  close: () => void;
}

function BulkForm({ appId, known, close }: BulkFormProps) {
  const [text, setText] = useState('');
  const [isSecret, setSecret] = useState(true);
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, upsert] = useMutation(UpsertEnv);
  const { entries, problems } = parseDotEnv(text);
  const replaced = entries.filter(({ key }) => known.some((one) => one.key === key));
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      await done(upsert({ appId, entries: entries.map((entry) => ({ ...entry, isSecret })) }));
      close();
      toast(`${String(entries.length)} variables are saved.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextArea
        label="Lines of KEY=value"
        rows={12}
        autoFocus
        spellCheck={false}
        error={problems[0]}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <p className="field-hint" role="status">
        {bulkWords(
          entries.length - replaced.length,
          replaced.map(({ key }) => key),
        )}
      </p>
      <Check
        label="All are secret"
        checked={isSecret}
        onChange={(event) => setSecret(event.target.checked)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={fetching}
          disabled={entries.length === 0 || problems.length > 0}
        >
          Save all
        </Button>
      </DialogActions>
    </form>
  );
}

function bulkWords(added: number, replaced: readonly string[]): string {
  if (replaced.length === 0) return `${String(added)} new; nothing that is there changes.`;
  return `${String(added)} new; replaced: ${replaced.join(', ')}. What is not named stays.`;
}
