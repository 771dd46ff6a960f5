/** The hosts of an app, the DNS records that they need, and how far each is. */
import { type FormEvent, useState } from 'react';
import { useMutation, useQuery, type UseQueryResponse } from 'urql';
import { done } from '../../../api/done.ts';
import { type ApiError, toApiError } from '../../../api/errors.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { Button } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { SelectField, TextArea, TextField } from '../../../ui/field.tsx';
import { EmptyState, Section, Skeleton } from '../../../ui/page.tsx';
import { RelativeTime } from '../../../ui/relative-time.tsx';
import { Badge, StatusDot } from '../../../ui/status.tsx';
import { Table } from '../../../ui/table.tsx';
import { toast, toastError } from '../../../ui/toast.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';

const DomainFields = graphql(`
  fragment DomainFields on Domain {
    id
    host
    redirectTo
    isPrimary
    status
    error
    records {
      type
      name
      value
      found
    }
    certificate {
      issuer
      managed
      notAfter
    }
  }
`);
const DomainsQuery = graphql(
  `
    query AppDomains($id: ID!) {
      app(id: $id) {
        id
        url
        urls
        domains {
          ...DomainFields
        }
      }
    }
  `,
  [DomainFields],
);
const AddDomain = graphql(
  `
    mutation AddDomain($appId: ID!, $host: String!, $redirectTo: String) {
      addDomain(appId: $appId, host: $host, redirectTo: $redirectTo) {
        ...DomainFields
      }
    }
  `,
  [DomainFields],
);
const VerifyDomain = graphql(
  `
    mutation VerifyDomain($id: ID!) {
      verifyDomain(id: $id) {
        ...DomainFields
      }
    }
  `,
  [DomainFields],
);
const SetPrimary = graphql(
  `
    mutation SetPrimaryDomain($id: ID!) {
      setPrimaryDomain(id: $id) {
        ...DomainFields
      }
    }
  `,
  [DomainFields],
);
const RemoveDomain = graphql(`
  mutation RemoveDomain($id: ID!) {
    removeDomain(id: $id)
  }
`);
const UploadCertificate = graphql(
  `
    mutation UploadCertificate($domainId: ID!, $certificate: String!, $privateKey: String!) {
      uploadCertificate(domainId: $domainId, certificate: $certificate, privateKey: $privateKey) {
        ...DomainFields
      }
    }
  `,
  [DomainFields],
);

type Domain = ResultOf<typeof DomainFields>;

export function Page({ params: { id = '' } }: PageProps) {
  // Beside the frame's own query, not behind it.
  const query = useQuery({ query: DomainsQuery, variables: { id } });
  return (
    <AppFrame id={id} title="Domains">
      {(app) => <Domains app={app} query={query} />}
    </AppFrame>
  );
}

type Query = UseQueryResponse<ResultOf<typeof DomainsQuery>, VariablesOf<typeof DomainsQuery>>;

function Domains({ app, query: [{ data, error }, ask] }: { app: App; query: Query }) {
  const [adding, setAdding] = useState(false);
  const again = (): void => ask({ requestPolicy: 'network-only' });
  if (error) return <ErrorNote error={error} retry={again} />;
  if (!data) return <Skeleton lines={4} look="rows" />;
  const domains = data.app?.domains ?? [];
  const mayConfigure = mayOn(app, 'configure_apps');
  const add = mayConfigure && (
    <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
      Add a domain
    </Button>
  );
  return (
    <Section
      title="Domains"
      description="Hosts of your own that lead to this app."
      look="bare"
      actions={domains.length > 0 ? add : undefined}
    >
      {domains.length === 0 && (
        <EmptyState icon="globe" title="No domains yet" action={add}>
          Add one, set the records that you are shown at your DNS provider, and it answers here.
        </EmptyState>
      )}
      <div className="domains">
        {domains.map((domain) => (
          <DomainView key={domain.id} domain={domain} mayConfigure={mayConfigure} again={again} />
        ))}
      </div>
      <Dialog open={adding} onOpenChange={setAdding} title="Add a domain">
        <DomainForm
          appId={app.id}
          hosts={domains.map(({ host }) => host)}
          close={() => setAdding(false)}
          again={again}
        />
      </Dialog>
    </Section>
  );
}

interface DomainViewProps {
  domain: Domain;
  mayConfigure: boolean;
  again: () => void;
}

function DomainView({ domain, mayConfigure, again }: DomainViewProps) {
  const { id, host, redirectTo, isPrimary, status, error, records, certificate } = domain;
  const [leaving, setLeaving] = useState(false);
  const [uploading, setUploading] = useState(false);
  const [verifying, verify] = useMutation(VerifyDomain);
  const [, setPrimary] = useMutation(SetPrimary);
  const [, remove] = useMutation(RemoveDomain);
  const run = async (work: Promise<unknown>): Promise<void> => {
    try {
      await work;
      again();
    } catch (thrown) {
      toastError(thrown);
    }
  };
  const isOpen = status !== 'active' || records.some(({ found }) => !found);
  return (
    <article className="domain" aria-label={host}>
      <header className="domain-head">
        <h3>{host}</h3>
        <StatusDot status={status} />
        {isPrimary && <Badge tone="good">primary</Badge>}
        {redirectTo !== null && <Badge>{`leads to ${redirectTo}`}</Badge>}
        {mayConfigure && (
          <span className="row-actions">
            {isOpen && (
              <Button
                size="small"
                busy={verifying.fetching}
                onClick={() => void run(done(verify({ id })))}
              >
                Look now
              </Button>
            )}
            {!isPrimary && redirectTo === null && (
              <Button size="small" onClick={() => void run(done(setPrimary({ id })))}>
                Make primary
              </Button>
            )}
            <Button size="small" onClick={() => setUploading(true)}>
              Own certificate
            </Button>
            <Button size="small" look="ghost" onClick={() => setLeaving(true)}>
              Remove
            </Button>
          </span>
        )}
      </header>
      {error !== null && <p className="domain-error">{error}</p>}
      {certificate !== null && (
        <p className="section-description">
          Certificate of {certificate.issuer},{' '}
          {certificate.managed ? 'renewed by itself' : 'uploaded'}; ends{' '}
          <RelativeTime at={certificate.notAfter} />.
        </p>
      )}
      {isOpen && <Records records={records} host={host} />}
      <Dialog open={uploading} onOpenChange={setUploading} title={`Certificate of ${host}`}>
        <CertificateForm domainId={id} close={() => setUploading(false)} again={again} />
      </Dialog>
      <ConfirmDialog
        open={leaving}
        onOpenChange={setLeaving}
        title={`Remove ${host}?`}
        action="Remove the domain"
        danger
        onConfirm={async () => {
          await done(remove({ id }));
          again();
          toast(`${host} is removed.`);
        }}
      >
        Visitors of it are answered 404 from then on.
      </ConfirmDialog>
    </article>
  );
}

function Records({ records, host }: { records: Domain['records']; host: string }) {
  return (
    <Table
      label={`DNS records of ${host}`}
      rows={records}
      rowKey={({ type, name, value }) => `${type} ${name} ${value}`}
      columns={[
        { key: 'type', head: 'Type', cell: ({ type }) => <code>{type}</code> },
        { key: 'name', head: 'Name', cell: ({ name }) => <Copied text={name} what="the name" /> },
        {
          key: 'value',
          head: 'Value',
          cell: ({ value }) => <Copied text={value} what="the value" />,
        },
        { key: 'found', head: 'State', cell: ({ found }) => <StatusDot status={found ? 'found' : 'missing'} tone={found ? 'good' : 'warn'} /> }, // prettier-ignore
      ]}
    />
  );
}

function Copied({ text, what }: { text: string; what: string }) {
  return (
    <span className="env-value">
      <code>{text}</code>
      <CopyButton text={text} label={`Copy ${what}`} />
    </span>
  );
}

interface DomainFormProps {
  appId: string;
  hosts: readonly string[];
  close: () => void;
  again: () => void;
}

function DomainForm({ appId, hosts, close, again }: DomainFormProps) {
  const [host, setHost] = useState('');
  const [redirectTo, setRedirectTo] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, add] = useMutation(AddDomain);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      const redirect = redirectTo === '' ? {} : { redirectTo };
      await done(add({ appId, host: host.trim(), ...redirect }));
      again();
      close();
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  const options = [
    { value: '', label: 'To the app' },
    ...hosts.map((one) => ({ value: one, label: `On to ${one}` })),
  ];
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Host"
        required
        autoFocus
        spellCheck={false}
        placeholder="shop.example.com"
        value={host}
        onChange={(event) => setHost(event.target.value)}
      />
      {hosts.length > 0 && (
        <SelectField
          label="Leads"
          options={options}
          value={redirectTo}
          onChange={(event) => setRedirectTo(event.target.value)}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching} disabled={host.trim() === ''}>
          Add
        </Button>
      </DialogActions>
    </form>
  );
}

interface CertificateFormProps {
  domainId: string;
  close: () => void;
  again: () => void;
}

function CertificateForm({ domainId, close, again }: CertificateFormProps) {
  const [certificate, setCertificate] = useState('');
  const [privateKey, setPrivateKey] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, upload] = useMutation(UploadCertificate);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      await done(upload({ domainId, certificate, privateKey }));
      again();
      close();
      toast('The certificate is in use.');
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextArea
        label="Certificate, with those above it (PEM)"
        required
        autoFocus
        rows={6}
        spellCheck={false}
        value={certificate}
        onChange={(event) => setCertificate(event.target.value)}
      />
      <TextArea
        label="Private key (PEM)"
        required
        rows={6}
        spellCheck={false}
        value={privateKey}
        onChange={(event) => setPrivateKey(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching}>
          Use it
        </Button>
      </DialogActions>
    </form>
  );
}
