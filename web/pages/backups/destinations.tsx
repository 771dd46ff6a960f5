/** Where backups go, and the keys that open them. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, SelectField, TextField } from '../../ui/field.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';
import { Badge } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import { type Destination, DestinationFields } from './documents.ts';

const CreateDestination = graphql(
  `
    mutation CreateDestination($input: CreateDestinationInput!) {
      createDestination(input: $input) {
        ...DestinationFields
      }
    }
  `,
  [DestinationFields],
);
const TestDestination = graphql(`
  mutation TestDestination($id: ID!) {
    testDestination(id: $id) {
      ok
      error
    }
  }
`);
const DeleteDestination = graphql(`
  mutation DeleteDestination($id: ID!) {
    deleteDestination(id: $id)
  }
`);
const RecoveryKey = graphql(`
  mutation DestinationRecoveryKey($id: ID!) {
    destinationRecoveryKey(id: $id)
  }
`);

export function Destinations({ destinations }: { destinations: readonly Destination[] }) {
  const { can } = useSession();
  const [creating, setCreating] = useState(false);
  const [leaving, setLeaving] = useState<Destination | null>(null);
  const [key, setKey] = useState<string | null>(null);
  const [, remove] = useMutation(DeleteDestination);
  const [, reveal] = useMutation(RecoveryKey);
  const mayManage = can('manage_backup_destinations');
  const create = mayManage && (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      New destination
    </Button>
  );
  const show = async (id: string): Promise<void> => {
    try {
      setKey((await done(reveal({ id }))).destinationRecoveryKey);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Section
      title="Destinations"
      look="bare"
      actions={destinations.length > 0 ? create : undefined}
    >
      {destinations.length === 0 ? (
        <EmptyState icon="archive" title="No destinations yet" action={create}>
          Backups go to a folder of this machine, or to a bucket that speaks S3.
        </EmptyState>
      ) : (
        <Table
          label="Destinations"
          rows={destinations}
          rowKey={({ id }) => id}
          columns={[
            { key: 'name', head: 'Name', cell: (one) => <Name destination={one} /> },
            { key: 'place', head: 'Place', lesser: true, cell: placeWords },
            {
              ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
              cell: (one) =>
                mayManage && (
                  <span className="row-actions">
                    <TestButton destination={one} />
                    <Menu trigger={<IconButton icon="more" label={`Actions of ${one.name}`} />}>
                      {one.encrypted && (
                        <MenuItem icon="key" onSelect={() => void show(one.id)}>
                          Show the recovery key
                        </MenuItem>
                      )}
                      <MenuItem icon="trash" danger onSelect={() => setLeaving(one)}>
                        Delete…
                      </MenuItem>
                    </Menu>
                  </span>
                ),
            },
          ]}
        />
      )}
      <Dialog open={creating} onOpenChange={setCreating} title="New destination">
        <DestinationForm close={() => setCreating(false)} />
      </Dialog>
      <SecretOnce
        title="The recovery key"
        description="It opens the backups of this destination when this Gangway is gone. Keep it somewhere else."
        secret={key}
        onDone={() => setKey(null)}
      />
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Delete ${leaving?.name ?? ''}?`}
        action="Delete the destination"
        danger
        onConfirm={async () => {
          await done(remove({ id: leaving?.id ?? '' }));
          toast(`${leaving?.name ?? ''} is deleted.`);
        }}
      >
        Backups that it holds stay where they are; encrypted ones need the recovery key.
      </ConfirmDialog>
    </Section>
  );
}

function Name({ destination: { name, encrypted, lastTestError } }: { destination: Destination }) {
  return (
    <span className="backups-state">
      <span>
        <bdi>{name}</bdi> {encrypted ? <Badge tone="good">encrypted</Badge> : <Badge>plain</Badge>}
      </span>
      {lastTestError !== null && <small className="backups-error">{lastTestError}</small>}
    </span>
  );
}

function placeWords({ kind, path, bucket, endpoint }: Destination): string {
  if (kind === 'server') return `This machine${path === null ? '' : `: ${path}`}`;
  const host = endpoint !== null && URL.canParse(endpoint) ? new URL(endpoint).host : 'AWS';
  return `${bucket ?? ''} at ${host}`;
}

function TestButton({ destination: { id, name } }: { destination: Destination }) {
  const [{ fetching }, test] = useMutation(TestDestination);
  const run = async (): Promise<void> => {
    try {
      const { testDestination } = await done(test({ id }));
      if (testDestination.ok) toast(`${name} works: an object was written, read back and removed.`);
      else toastError(new Error(testDestination.error ?? 'The test failed.'));
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Button size="small" busy={fetching} onClick={() => void run()}>
      Test
    </Button>
  );
}

const empty = { name: '', path: '', bucket: '', endpoint: '', region: '', accessKey: '', secretKey: '' }; // prettier-ignore

function DestinationForm({ close }: { close: () => void }) {
  const [kind, setKind] = useState<'server' | 's3'>('server');
  const [fields, setFields] = useState(empty);
  const [encrypt, setEncrypt] = useState(true);
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, create] = useMutation(CreateDestination);
  const field = (name: keyof typeof empty) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) =>
      setFields({ ...fields, [name]: event.target.value }),
  });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { name, path, ...bucket } = fields;
    const given = kind === 's3' ? { path, ...bucket } : { path };
    const filled = Object.entries(given).filter(([, value]) => value !== '');
    try {
      const input = { name, kind, encrypt, ...Object.fromEntries(filled) };
      await done(create({ input }));
      close();
      toast(encrypt ? `${name} is made. Show its recovery key, and keep it.` : `${name} is made.`);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField label="Name" required autoFocus {...field('name')} />
      <SelectField
        label="Kind"
        options={[
          { value: 'server', label: 'A folder of this machine' },
          { value: 's3', label: 'A bucket (S3)' },
        ]}
        value={kind}
        onChange={(event) => setKind(event.target.value as 'server' | 's3')}
      />
      {kind === 's3' && (
        <>
          <TextField label="Bucket" required {...field('bucket')} />
          <TextField
            label="Endpoint"
            placeholder="https://s3.example.com"
            hint="Empty: AWS."
            {...field('endpoint')}
          />
          <TextField label="Region" placeholder="us-east-1" {...field('region')} />
          <TextField label="Access key" required autoComplete="off" {...field('accessKey')} />
          <TextField
            label="Secret key"
            type="password"
            required
            autoComplete="off"
            {...field('secretKey')}
          />
        </>
      )}
      <TextField
        label={kind === 's3' ? 'Folder in the bucket' : 'Folder'}
        hint={
          kind === 's3' ? 'May be empty.' : 'Empty: the folder of backups in the data directory.'
        }
        {...field('path')}
      />
      <Check
        label="Encrypt"
        hint="With a key pair of its own; you need its recovery key when this Gangway is gone."
        checked={encrypt}
        onChange={(event) => setEncrypt(event.target.checked)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching} disabled={fields.name === ''}>
          Create
        </Button>
      </DialogActions>
    </form>
  );
}
