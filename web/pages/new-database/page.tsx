/** The page on which a database is made: an engine, a name, and what may be left as it is. */
import { type FormEvent, useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { useLocation } from 'wouter';
import { useSession } from '../../shell/session.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { EmptyState, Page as Frame, Section } from '../../ui/page.tsx';
import { ServerField } from '../server/server-field.tsx';
import { CreateDatabase, PlacesQuery } from './documents.ts';
import { type Engine, engineNames, engines } from './engines.ts';
import { VersionField } from './version-field.tsx';

const crumbs = [{ href: '/', label: 'Overview' }];

interface Values {
  engine: Engine;
  version: string;
  name: string;
  folderId: string;
  /** Empty: the first. */
  serverId: string;
  databaseName: string;
  username: string;
  password: string;
  memoryMb: string;
  cpus: string;
}

const empty: Values = {
  ...{ engine: 'POSTGRES', version: '', name: '', folderId: '', serverId: '' },
  ...{ databaseName: '', username: '', password: '', memoryMb: '', cpus: '' },
};

export function Page() {
  const { can } = useSession();
  const [values, setValues] = useState(empty);
  const [{ fetching, error }, create] = useMutation(CreateDatabase);
  const [, navigate] = useLocation();
  const set = (change: Partial<Values>): void => setValues((before) => ({ ...before, ...change }));
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const { data } = await create({ input: inputOf(values) });
    if (data) navigate(`/databases/${data.createDatabase.id}`);
  };
  if (!can('create_databases')) return <NotAllowed />;
  return (
    <Frame title="New database" crumbs={crumbs} width="narrow">
      <form onSubmit={(event) => void submit(event)}>
        <Section title="What it is">
          <EnginePicker value={values.engine} onChange={(engine) => set({ engine, version: '' })} />
          <VersionField
            engine={values.engine}
            value={values.version}
            onChange={(version) => set({ version })}
          />
          <TextField
            label="Name"
            required
            maxLength={200}
            autoComplete="off"
            value={values.name}
            onChange={(event) => set({ name: event.target.value })}
          />
          <PlaceFields values={values} set={set} />
        </Section>
        <Section title="Details" description="All of it may be left empty.">
          <Details values={values} set={set} />
        </Section>
        {error && <ErrorNote error={error} />}
        <div className="new-database-actions">
          <ButtonLink href="/">Cancel</ButtonLink>
          <Button type="submit" look="primary" busy={fetching} disabled={values.name.trim() === ''}>
            Create database
          </Button>
        </div>
      </form>
    </Frame>
  );
}

function EnginePicker({ value, onChange }: { value: Engine; onChange: (engine: Engine) => void }) {
  return (
    <fieldset className="new-database-engines">
      <legend className="field-label">Engine</legend>
      {engineNames.map((name) => (
        <label key={name} className="new-database-engine">
          <input
            type="radio"
            name="engine"
            checked={value === name}
            onChange={() => onChange(name)}
          />
          <span>
            <b>{engines[name].label}</b>
            <small>{engines[name].what}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function PlaceFields({ values, set }: FieldsProps) {
  const [{ data, error }, ask] = useQuery({ query: PlacesQuery });
  const { folders = [], servers = [] } = data ?? {};
  if (error)
    return <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />;
  const options = folders.map(({ id, name }) => ({ value: id, label: name }));
  return (
    <>
      {folders.length > 0 && (
        <SelectField
          label="Folder"
          options={[{ value: '', label: 'None' }, ...options]}
          value={values.folderId}
          onChange={(event) => set({ folderId: event.target.value })}
        />
      )}
      <ServerField
        label="Server"
        servers={servers}
        value={values.serverId === '' ? (servers[0]?.id ?? '') : values.serverId}
        onChange={(serverId) => set({ serverId })}
      />
    </>
  );
}

interface FieldsProps {
  values: Values;
  set: (change: Partial<Values>) => void;
}

function Details({ values, set }: FieldsProps) {
  const text = (name: 'databaseName' | 'username', label: string) => (
    <TextField
      label={label}
      autoComplete="off"
      spellCheck={false}
      value={values[name]}
      onChange={(event) => set({ [name]: event.target.value })}
    />
  );
  return (
    <>
      <div className="new-database-pair">
        {text('databaseName', 'Database name')}
        {text('username', 'User')}
      </div>
      <TextField
        label="Password"
        type="password"
        autoComplete="new-password"
        hint="Left empty, a long one is made up."
        value={values.password}
        onChange={(event) => set({ password: event.target.value })}
      />
      <div className="new-database-pair">
        <TextField
          label="Memory, in MB"
          type="number"
          min={1}
          value={values.memoryMb}
          onChange={(event) => set({ memoryMb: event.target.value })}
        />
        <TextField
          label="Processors"
          type="number"
          min={0.01}
          step="any"
          value={values.cpus}
          onChange={(event) => set({ cpus: event.target.value })}
        />
      </div>
    </>
  );
}

function NotAllowed() {
  return (
    <Frame title="New database" crumbs={crumbs} width="narrow">
      <EmptyState
        icon="database"
        title="You may not make databases here"
        action={<ButtonLink href="/">To the overview</ButtonLink>}
      >
        Ask an owner of the team for the right to create databases.
      </EmptyState>
    </Frame>
  );
}

/** What is empty is left to Gangway. */
function inputOf({ engine, name, memoryMb, cpus, ...texts }: Values) {
  const resources = {
    ...(memoryMb !== '' && { memoryMb: Number(memoryMb) }),
    ...(cpus !== '' && { cpus: Number(cpus) }),
  };
  const given = Object.entries(texts).filter(([, value]) => value !== '');
  return {
    ...{ engine, name: name.trim() },
    ...(Object.fromEntries(given) as Partial<typeof texts>),
    ...(Object.keys(resources).length > 0 && { resources }),
  };
}
