/** Making an app: from a folder that is dropped, from git, an image, a compose file, or a sample to try. */
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CodeEditor } from '../../ui/code-editor.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { ImageField } from '../../ui/image-field.tsx';
import { EmptyState, Page as Frame } from '../../ui/page.tsx';
import { pathsOf } from '../overview/things.ts';
import { ServerChoice, ServerField } from '../server/server-field.tsx';
import { archiveOf, type Chosen } from './chosen.ts';
import { type ArchiveToSend, type CreateAppInput, useDeploy } from './deploy.ts';
import { DropZone } from './drop-zone.tsx';
import { type GitChoice, GitSource } from './git-source.tsx';
import { Progress } from './progress.tsx';
import { type Sample, samples } from './samples.ts';

const NewAppPage = graphql(
  `
    query NewAppPage {
      folders {
        id
        name
        parentId
      }
      servers {
        ...ServerChoice
        runtime
      }
    }
  `,
  [ServerChoice],
);

type Source = 'upload' | 'git' | 'image' | 'compose' | 'sample';

const sources: readonly { key: Source; label: string; text: string; icon: IconName }[] = [
  { key: 'upload', label: 'Upload', text: 'A folder or an archive', icon: 'upload' },
  { key: 'git', label: 'Git', text: 'A branch, kept up to date', icon: 'git' },
  { key: 'image', label: 'Image', text: 'From a registry', icon: 'box' },
  { key: 'compose', label: 'Compose', text: 'Several services', icon: 'list' },
  { key: 'sample', label: 'Sample', text: 'To try it out', icon: 'sparkle' },
];

/** What the chosen source gives for making the app; null while something is missing. */
interface Draft {
  name: string;
  input: Pick<CreateAppInput, 'source' | 'git' | 'image' | 'compose'>;
  archive: ArchiveToSend | null;
  deploys: boolean;
}

const crumbs = [{ href: '/', label: 'Overview' }];

export function Page() {
  const { can } = useSession();
  if (can('create_apps')) return <NewApp />;
  return (
    <Frame title="New app" crumbs={crumbs} width="narrow">
      <EmptyState
        icon="shield"
        title="You may not make apps in this team"
        action={<ButtonLink href="/">To the overview</ButtonLink>}
      >
        Somebody who manages the team can give your role the right to create apps.
      </EmptyState>
    </Frame>
  );
}

function NewApp() {
  const { can } = useSession();
  const [, navigate] = useLocation();
  const [{ data, error }, ask] = useQuery({ query: NewAppPage });
  const [source, setSource] = useState<Source>('upload');
  const [draft, setDraft] = useState<Draft | null>(null);
  const [named, setNamed] = useState<string | null>(null);
  const [folderId, setFolderId] = useState('');
  const [chosenServer, setServer] = useState<string | null>(null);
  const { state, deploy, cancel, madeAppId } = useDeploy();
  const isBusy = state.at !== 'idle' && state.at !== 'failed';
  const name = named ?? draft?.name ?? '';
  const servers = data?.servers ?? [];
  const serverId = chosenServer ?? servers[0]?.id ?? '';
  const runtime = servers.find(({ id }) => id === serverId)?.runtime;
  const needsContainers = source === 'image' || source === 'compose';
  const lacksContainers = needsContainers && runtime === 'process';
  const mayDeploy = can('deploy_apps');
  useWarning(isBusy);
  const choose = (next: Source): void => {
    setSource(next);
    setDraft(null);
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (draft === null || isBusy) return;
    const input = {
      ...{ ...draft.input, name: name.trim() },
      ...(folderId !== '' && { folderId }),
      ...(chosenServer !== null && { serverId: chosenServer }),
    };
    const deploys = draft.deploys && mayDeploy;
    const done = await deploy({ input, archive: mayDeploy ? draft.archive : null, deploys });
    if (done === null) return;
    const { appId, deploymentId } = done;
    navigate(
      deploymentId === null ? `/apps/${appId}` : `/apps/${appId}/deployments/${deploymentId}`,
    );
  };
  return (
    <Frame title="New app" crumbs={crumbs} width="narrow">
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      <form className="new-app" onSubmit={(event) => void submit(event)}>
        <fieldset className="sources" disabled={isBusy || madeAppId !== null}>
          <legend className="only-read">Where the app comes from</legend>
          {sources.map(({ key, label, text, icon }) => (
            <label key={key} className="source">
              <input
                type="radio"
                name="source"
                value={key}
                checked={source === key}
                onChange={() => choose(key)}
              />
              <Icon name={icon} size={20} />
              <span className="source-label">{label}</span>
              <span className="source-text">{text}</span>
            </label>
          ))}
        </fieldset>
        <div className="new-app-source">
          {lacksContainers ? (
            <EmptyState icon="server" title="This server runs no containers">
              Images and compose files need Docker on the server. Folders, archives and git work
              without.
            </EmptyState>
          ) : (
            <SourceFields key={source} source={source} disabled={isBusy} onDraft={setDraft} />
          )}
        </div>
        {draft !== null && (
          <Particulars
            name={name}
            onName={setNamed}
            folders={data?.folders ?? []}
            folderId={folderId}
            onFolder={setFolderId}
            servers={servers}
            serverId={serverId}
            onServer={setServer}
            disabled={isBusy || madeAppId !== null}
          />
        )}
        {!mayDeploy && (
          <p className="new-app-note">
            <Icon name="info" /> You may make apps here, but not deploy them: somebody with that
            right has to do it.
          </p>
        )}
        {state.at === 'failed' && <ErrorNote error={state.error} />}
        {state.at === 'failed' && madeAppId !== null && (
          <p className="new-app-note">
            <Icon name="info" /> The app itself is made. Trying again goes on with it.
          </p>
        )}
        <Progress state={state} />
        <div className="new-app-actions">
          {isBusy && (state.at === 'packing' || state.at === 'sending') && (
            <Button onClick={cancel}>Cancel</Button>
          )}
          <Button
            type="submit"
            look="primary"
            icon="rocket"
            busy={isBusy}
            disabled={draft === null || name.trim() === ''}
          >
            {submitLabel(state.at === 'failed', mayDeploy && draft?.deploys !== false)}
          </Button>
        </div>
      </form>
    </Frame>
  );
}

type Places = ResultOf<typeof NewAppPage>;

interface ParticularsProps extends Places {
  name: string;
  onName: (name: string) => void;
  folderId: string;
  onFolder: (id: string) => void;
  serverId: string;
  onServer: (id: string) => void;
  disabled: boolean;
}

function Particulars({ folders, servers, disabled, ...values }: ParticularsProps) {
  const { name, onName, folderId, onFolder, serverId, onServer } = values;
  return (
    <div className="new-app-row">
      <TextField
        label="Name"
        value={name}
        onChange={(event) => onName(event.target.value)}
        required
        maxLength={100}
        disabled={disabled}
        hint="Its address is made of it; it can be changed later."
        autoComplete="off"
      />
      {folders.length > 0 && (
        <SelectField
          label="Folder"
          value={folderId}
          onChange={(event) => onFolder(event.target.value)}
          disabled={disabled}
          options={[
            { value: '', label: 'None' },
            ...[...pathsOf(folders)].map(([value, label]) => ({ value, label })),
          ]}
        />
      )}
      <ServerField
        label="Server"
        servers={servers}
        value={serverId}
        onChange={onServer}
        disabled={disabled}
      />
    </div>
  );
}

function submitLabel(hasFailed: boolean, deploys: boolean): string {
  if (hasFailed) return 'Try again';
  return deploys ? 'Deploy' : 'Make the app';
}

/** The browser asks before a page is left that is sending something. */
function useWarning(isBusy: boolean): void {
  useEffect(() => {
    if (!isBusy) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isBusy]);
}

interface SourceFieldsProps {
  source: Source;
  disabled: boolean;
  onDraft: (draft: Draft | null) => void;
}

function SourceFields({ source, disabled, onDraft }: SourceFieldsProps) {
  switch (source) {
    case 'upload':
      return <UploadFields disabled={disabled} onDraft={onDraft} />;
    case 'git':
      return <GitFields onDraft={onDraft} />;
    case 'image':
      return <ImageFields onDraft={onDraft} />;
    case 'compose':
      return <ComposeFields onDraft={onDraft} />;
    case 'sample':
      return <SampleFields disabled={disabled} onDraft={onDraft} />;
  }
}

type FieldsProps = Pick<SourceFieldsProps, 'onDraft'>;

function UploadFields({ disabled, onDraft }: Omit<SourceFieldsProps, 'source'>) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const take = useCallback(
    (next: Chosen | null) => {
      setChosen(next);
      const input = { source: 'UPLOAD' } as const;
      onDraft(next && { name: next.name, input, archive: archiveOf(next), deploys: true });
    },
    [onDraft],
  );
  return <DropZone chosen={chosen} onChosen={take} disabled={disabled} />;
}

function GitFields({ onDraft }: FieldsProps) {
  const onChoice = useCallback(
    (choice: GitChoice | null) => {
      if (choice === null) return onDraft(null);
      const { git, name, deploys } = choice;
      onDraft({ name, input: { source: 'GIT', git }, archive: null, deploys });
    },
    [onDraft],
  );
  return <GitSource onChoice={onChoice} />;
}

function ImageFields({ onDraft }: FieldsProps) {
  const [image, setImage] = useState('');
  const change = (text: string): void => {
    setImage(text);
    const wanted = text.trim();
    const name = wanted.split('/').at(-1)?.split(/[:@]/)[0] ?? '';
    const input = { source: 'IMAGE', image: wanted } as const;
    onDraft(wanted === '' ? null : { name, input, archive: null, deploys: true });
  };
  return <ImageField value={image} onChange={change} />;
}

const composeStart = `services:
  web:
    image: nginx:1.27
    ports:
      - "80"
`;

function ComposeFields({ onDraft }: FieldsProps) {
  const [compose, setCompose] = useState(composeStart);
  useEffect(() => {
    const input = { source: 'COMPOSE', compose } as const;
    onDraft(compose.trim() === '' ? null : { name: '', input, archive: null, deploys: true });
  }, [compose, onDraft]);
  return <CodeEditor label="Compose file" language="yaml" value={compose} onChange={setCompose} />;
}

function SampleFields({ disabled, onDraft }: Omit<SourceFieldsProps, 'source'>) {
  const [chosen, setChosen] = useState('');
  const choose = ({ key, files }: Sample): void => {
    setChosen(key);
    const parts = Object.entries(files).map(([path, text]) => ({
      path,
      file: new File([text], path),
    }));
    const bytes = parts.reduce((sum, { file }) => sum + file.size, 0);
    const plan = { name: key, files: parts, bytes, leftOut: { count: 0, first: [] } };
    const archive = archiveOf({ kind: 'folder', name: key, plan });
    onDraft({ name: `sample-${key}`, input: { source: 'UPLOAD' }, archive, deploys: true });
  };
  return (
    <fieldset className="samples" disabled={disabled}>
      <legend className="only-read">Samples</legend>
      {samples.map((sample) => (
        <label key={sample.key} className="sample">
          <input
            type="radio"
            name="sample"
            checked={chosen === sample.key}
            onChange={() => choose(sample)}
          />
          <span className="sample-title">{sample.title}</span>
          <span className="sample-text">{sample.text}</span>
          <span className="sample-files">{Object.keys(sample.files).join(', ')}</span>
        </label>
      ))}
    </fieldset>
  );
}
