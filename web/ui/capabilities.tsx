/** Owns how capabilities are named and chosen: by what they are about, with what each lets somebody do. */
import type { Enum } from '../api/graphql.ts';
import { Check } from './field.tsx';

export type Capability = Enum<'Capability'>;

const words: Readonly<Record<Capability, string>> = {
  create_apps: 'Create apps',
  configure_apps: 'Configure apps and their domains',
  control_apps: 'Start, stop and restart apps',
  deploy_apps: 'Deploy apps and roll back',
  delete_apps: 'Delete apps',
  open_app_console: 'Open consoles of apps',
  create_databases: 'Create databases',
  configure_databases: 'Configure databases',
  control_databases: 'Start and stop databases',
  delete_databases: 'Delete databases',
  open_database_console: 'Open consoles of databases',
  manage_env: 'Change environment variables',
  reveal_secrets: 'Reveal secrets',
  view_logs: 'Read logs',
  view_metrics: 'See metrics and traffic',
  manage_backups: 'Run, schedule and delete backups',
  restore_backups: 'Restore and download backups',
  manage_backup_destinations: 'Manage backup destinations',
  manage_folders: 'Manage folders',
  manage_git: 'Manage git connections',
  manage_registries: 'Manage image registries',
  manage_mcp: 'Let AI agents act for oneself',
  manage_members: 'Invite and remove people',
  manage_roles: 'Manage roles',
  manage_team: 'Manage the team',
  manage_tokens: 'Manage API tokens',
  view_activity: 'See the activity',
};

const groups: readonly (readonly [string, readonly Capability[]])[] = [
  [
    'Apps',
    [
      ...(['create_apps', 'configure_apps', 'control_apps', 'deploy_apps'] as const),
      ...(['delete_apps', 'open_app_console', 'manage_env', 'reveal_secrets'] as const),
    ],
  ],
  [
    'Databases and backups',
    [
      ...(['create_databases', 'configure_databases', 'control_databases'] as const),
      ...(['delete_databases', 'open_database_console', 'manage_backups'] as const),
      ...(['restore_backups', 'manage_backup_destinations'] as const),
    ],
  ],
  ['What happened', ['view_logs', 'view_metrics', 'view_activity']],
  [
    'Team',
    [
      ...(['manage_members', 'manage_roles', 'manage_team', 'manage_tokens'] as const),
      ...(['manage_folders', 'manage_git', 'manage_registries', 'manage_mcp'] as const),
    ],
  ],
];

export const capabilityCount = Object.keys(words).length;

export function capabilityWords(capability: Capability): string {
  return words[capability];
}

interface CapabilityFieldsProps {
  chosen: ReadonlySet<Capability>;
  onChange: (chosen: ReadonlySet<Capability>) => void;
  /** Nobody gives more than the own rights. */
  may: (capability: Capability) => boolean;
}

export function CapabilityFields({ chosen, onChange, may }: CapabilityFieldsProps) {
  const set = (capability: Capability, wanted: boolean): void => {
    const next = new Set(chosen);
    if (wanted) next.add(capability);
    else next.delete(capability);
    onChange(next);
  };
  return (
    <div className="capabilities">
      {groups.map(([title, capabilities]) => (
        <fieldset key={title} className="capabilities-group">
          <legend>{title}</legend>
          {capabilities.map((capability) => (
            <Check
              key={capability}
              label={words[capability]}
              checked={chosen.has(capability)}
              disabled={!may(capability) && !chosen.has(capability)}
              hint={may(capability) ? undefined : 'You do not hold it yourself.'}
              onChange={(event) => set(capability, event.target.checked)}
            />
          ))}
        </fieldset>
      ))}
    </div>
  );
}
