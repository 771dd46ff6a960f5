/** Owns the search over everything: pages, apps, databases and actions, by Ctrl-K. Loaded when first used. */
import { Command } from 'cmdk';
import { useState } from 'react';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { useAllApps } from '../api/all-apps.ts';
import { graphql } from '../api/graphql.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { allLinks } from './navigation.tsx';
import { useSession } from './session.ts';
import { chooseTheme } from './theme.ts';

const PaletteApps = graphql(`
  query PaletteApps($after: String) {
    apps(first: 500, after: $after) {
      nodes {
        id
        name
        slug
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const PaletteDatabases = graphql(`
  query PaletteDatabases {
    databases {
      id
      name
      engine
    }
  }
`);

/** Of each kind; who looks for a further one types on. */
const shownMax = 30;

interface PaletteProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

export function Palette({ open, onOpenChange }: PaletteProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Search">
      <Choices onChosen={() => onOpenChange(false)} />
    </Dialog>
  );
}

const themes = ['light', 'dark', 'system'] as const;

function Choices({ onChosen }: { onChosen: () => void }) {
  const session = useSession();
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = <One,>(all: readonly One[], textOf: (one: One) => string): One[] =>
    all.filter((one) => words.every((word) => textOf(one).toLowerCase().includes(word)));
  const go =
    (href: string, outside = false) =>
    () => {
      onChosen();
      if (outside) location.assign(href);
      else navigate(href);
    };
  const pages = found(allLinks(session), ({ label, href }) => `${label} ${href}`);
  const looks = found(themes, (theme) => `theme appearance ${theme}`);
  return (
    // What matches is found here: to have the library look through 1,000 apps takes it a while.
    <Command className="palette" label="Search" loop shouldFilter={false}>
      <Command.Input
        placeholder="Apps, databases, pages, actions…"
        autoFocus
        value={text}
        onValueChange={setText}
      />
      <Command.List>
        <Command.Empty>Nothing of this name.</Command.Empty>
        {session.team !== null && <Things found={found} go={go} />}
        {pages.length > 0 && (
          <Command.Group heading="Pages">
            {pages.map(({ href, label, icon, outside }) => (
              <Choice
                key={href}
                value={href}
                icon={icon}
                name={label}
                onSelect={go(href, outside)}
              />
            ))}
          </Command.Group>
        )}
        {looks.length > 0 && (
          <Command.Group heading="Actions">
            {looks.map((theme) => (
              <Choice
                key={theme}
                value={`appearance ${theme}`}
                icon={theme === 'dark' ? 'moon' : 'sun'}
                name={`Appearance: ${theme}`}
                onSelect={() => {
                  chooseTheme(theme);
                  onChosen();
                }}
              />
            ))}
          </Command.Group>
        )}
      </Command.List>
    </Command>
  );
}

interface ThingsProps {
  found: <One>(all: readonly One[], textOf: (one: One) => string) => One[];
  go: (href: string) => () => void;
}

function Things({ found, go }: ThingsProps) {
  const { apps = [] } = useAllApps(PaletteApps);
  const [{ data }] = useQuery({ query: PaletteDatabases });
  const shownApps = found(apps, ({ name, slug }) => `${name} ${slug}`).slice(0, shownMax);
  const databases = found(data?.databases ?? [], ({ name, engine }) => `${name} ${engine}`);
  return (
    <>
      {shownApps.length > 0 && (
        <Command.Group heading="Apps">
          {shownApps.map(({ id, name, slug }) => (
            <Choice
              key={id}
              value={id}
              icon="app"
              name={name}
              kind={slug}
              onSelect={go(`/apps/${id}`)}
            />
          ))}
        </Command.Group>
      )}
      {databases.length > 0 && (
        <Command.Group heading="Databases">
          {databases.slice(0, shownMax).map(({ id, name, engine }) => (
            <Choice
              key={id}
              value={id}
              icon="database"
              name={name}
              kind={engine.toLowerCase()}
              onSelect={go(`/databases/${id}`)}
            />
          ))}
        </Command.Group>
      )}
    </>
  );
}

interface ChoiceProps {
  value: string;
  icon: IconName;
  name: string;
  kind?: string;
  onSelect: () => void;
}

function Choice({ value, icon, name, kind, onSelect }: ChoiceProps) {
  return (
    <Command.Item value={value} onSelect={onSelect}>
      <Icon name={icon} />
      <span className="palette-name">{name}</span>
      {kind !== undefined && <span className="palette-kind">{kind}</span>}
    </Command.Item>
  );
}
