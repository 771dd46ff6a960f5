/** Owns choosing a repository: one of a connection, a public one by its address, or one that is pushed here. */
import { useEffect, useState } from 'react';
import { useQuery } from 'urql';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, SearchField, SelectField, TextField } from '../../ui/field.tsx';
import { EmptyState, Skeleton } from '../../ui/page.tsx';
import { Badge } from '../../ui/status.tsx';
import { useSettled } from '../../ui/suggest-field.tsx';
import type { CreateAppInput } from './deploy.ts';

type GitInput = NonNullable<CreateAppInput['git']>;

export interface GitChoice {
  git: GitInput;
  name: string;
  /** Whether there is something to deploy before the first push. */
  deploys: boolean;
}

const Connections = graphql(`
  query NewAppConnections {
    gitConnections {
      id
      provider
      label
    }
  }
`);

const Repositories = graphql(`
  query NewAppRepositories($connectionId: ID!, $search: String) {
    gitRepositories(connectionId: $connectionId, search: $search) {
      fullName
      defaultBranch
      private
    }
  }
`);

const publicOne = 'public';
const pushed = 'push';

export function GitSource({ onChoice }: { onChoice: (choice: GitChoice | null) => void }) {
  const { can } = useSession();
  const mayAsk = can('manage_git');
  const [{ data, error, fetching }] = useQuery({ query: Connections, pause: !mayAsk });
  const connections = data?.gitConnections ?? [];
  const [from, setFrom] = useState<string | null>(null);
  const at = from ?? connections[0]?.id ?? publicOne;
  const [repository, setRepository] = useState('');
  const [branch, setBranch] = useState('');
  const [path, setPath] = useState('');
  const [submodules, setSubmodules] = useState(false);
  useEffect(() => {
    const wanted = at === pushed ? 'push' : repository.trim();
    if (wanted === '' || branch.trim() === '') return onChoice(null);
    onChoice({
      git: {
        repository: wanted,
        branch: branch.trim(),
        ...(at !== pushed && at !== publicOne && { connectionId: at }),
        ...(path.trim() !== '' && { path: path.trim() }),
        ...(submodules && { submodules }),
      },
      name: at === pushed ? '' : nameOf(wanted),
      deploys: at !== pushed,
    });
  }, [at, repository, branch, path, submodules, onChoice]);
  const choose = (next: string): void => {
    setFrom(next);
    setRepository('');
    setBranch(next === pushed || next === publicOne ? 'main' : '');
  };
  useEffect(() => {
    if (from === null && at === publicOne && !fetching) setBranch('main');
  }, [from, at, fetching]);
  if (mayAsk && data === undefined && !error) return <Skeleton lines={3} look="rows" />;
  return (
    <>
      {error && <ErrorNote error={error} />}
      <SelectField
        label="Where it is"
        value={at}
        onChange={(event) => choose(event.target.value)}
        options={[
          ...connections.map(({ id, label, provider }) => ({
            value: id,
            label: `${label} (${provider})`,
          })),
          { value: publicOne, label: 'A public repository, by its address' },
          { value: pushed, label: 'Pushed here from your machine' },
        ]}
        hint={
          mayAsk
            ? connections.length === 0 && 'Private repositories need a git connection of the team.'
            : 'You may not use the git connections of the team: that needs the right to manage git.'
        }
      />
      {at === publicOne && (
        <TextField
          label="Address"
          placeholder="https://github.com/acme/shop"
          inputMode="url"
          value={repository}
          onChange={(event) => setRepository(event.target.value)}
          spellCheck={false}
        />
      )}
      {at !== publicOne && at !== pushed && (
        <RepositoryPicker
          connectionId={at}
          chosen={repository}
          onChosen={(name, defaultBranch) => {
            setRepository(name);
            setBranch(defaultBranch);
          }}
        />
      )}
      <div className="new-app-row">
        <TextField
          label="Branch"
          value={branch}
          onChange={(event) => setBranch(event.target.value)}
          placeholder="main"
          spellCheck={false}
        />
        <TextField
          label="Folder in the repository"
          value={path}
          onChange={(event) => setPath(event.target.value)}
          placeholder="the top one"
          spellCheck={false}
        />
      </div>
      {at !== pushed && (
        <Check
          label="Fetch submodules, too"
          checked={submodules}
          onChange={(event) => setSubmodules(event.target.checked)}
        />
      )}
    </>
  );
}

function nameOf(repository: string): string {
  return (
    repository
      .replace(/\/+$/, '')
      .split('/')
      .at(-1)
      ?.replace(/\.git$/, '') ?? ''
  );
}

interface RepositoryPickerProps {
  connectionId: string;
  chosen: string;
  onChosen: (name: string, defaultBranch: string) => void;
}

function RepositoryPicker({ connectionId, chosen, onChosen }: RepositoryPickerProps) {
  const [search, setSearch] = useState('');
  const wanted = useSettled(search);
  const [{ data, error, fetching }, ask] = useQuery({
    query: Repositories,
    variables: { connectionId, search: wanted },
  });
  const found = data?.gitRepositories;
  return (
    <div className="repositories">
      <SearchField
        label="Search repositories"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      {found === undefined && fetching && <Skeleton lines={4} look="rows" />}
      {found?.length === 0 && <EmptyState icon="search" title="No repository of this name" />}
      {found !== undefined && found.length > 0 && (
        <ul className="repositories-list" aria-label="Repositories" aria-busy={fetching}>
          {found.map(({ fullName, defaultBranch, private: isPrivate }) => (
            <li key={fullName}>
              <label className="repository">
                <input
                  type="radio"
                  name="repository"
                  checked={fullName === chosen}
                  onChange={() => onChosen(fullName, defaultBranch)}
                />
                <bdi>{fullName}</bdi>
                {isPrivate && <Badge>private</Badge>}
              </label>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
