/** Owns the search over everything: pages, apps, databases and actions, by Ctrl-K. Loaded when first used. */
import { Command } from 'cmdk';
import { useQuery } from 'urql';
import { useLocation } from 'wouter';
import { graphql } from '../api/graphql.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { allLinks } from './navigation.tsx';
import { useSession } from './session.ts';
import { chooseTheme } from './theme.ts';

const PaletteQuery = graphql(`
  query Palette {
    apps(first: 500) {
      nodes {
        id
        name
        slug
      }
    }
    databases {
      id
      name
      engine
    }
  }
`);

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
  const [{ data }] = useQuery({ query: PaletteQuery, pause: session.team === null });
  const go =
    (href: string, outside = false) =>
    () => {
      onChosen();
      if (outside) location.assign(href);
      else navigate(href);
    };
  return (
    <Command className="palette" label="Search" loop>
      <Command.Input placeholder="Apps, databases, pages, actions…" autoFocus />
      <Command.List>
        <Command.Empty>Nothing of this name.</Command.Empty>
        <Command.Group heading="Apps">
          {data?.apps.nodes.map(({ id, name, slug }) => (
            <Choice
              key={id}
              value={`${name} ${slug} ${id}`}
              icon="app"
              name={name}
              kind={slug}
              onSelect={go(`/apps/${id}`)}
            />
          ))}
        </Command.Group>
        <Command.Group heading="Databases">
          {data?.databases.map(({ id, name, engine }) => (
            <Choice
              key={id}
              value={`${name} ${engine} ${id}`}
              icon="database"
              name={name}
              kind={engine.toLowerCase()}
              onSelect={go(`/databases/${id}`)}
            />
          ))}
        </Command.Group>
        <Command.Group heading="Pages">
          {allLinks(session).map(({ href, label, icon, outside }) => (
            <Choice
              key={href}
              value={`${label} ${href}`}
              icon={icon}
              name={label}
              onSelect={go(href, outside)}
            />
          ))}
        </Command.Group>
        <Command.Group heading="Actions">
          {themes.map((theme) => (
            <Choice
              key={theme}
              value={`theme appearance ${theme}`}
              icon={theme === 'dark' ? 'moon' : 'sun'}
              name={`Appearance: ${theme}`}
              onSelect={() => {
                chooseTheme(theme);
                onChosen();
              }}
            />
          ))}
        </Command.Group>
      </Command.List>
    </Command>
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
