/** Owns an app's name and its folder. */
import { SelectField, TextField } from '../../../ui/field.tsx';
import { pathsOf } from '../../overview/things.ts';
import type { Folders } from './page.tsx';
import { SettingsPart } from './parts.tsx';
import { type Settings, useSettingsForm } from './save.ts';

export function GeneralSettings({ settings, folders }: { settings: Settings; folders: Folders }) {
  const kept = { name: settings.name, folderId: settings.folderId ?? '' };
  const form = useSettingsForm(settings.id, kept, ({ name, folderId }, touched) => ({
    ...(touched.has('name') && { name: name.trim() }),
    ...(touched.has('folderId') && { folderId: folderId === '' ? null : folderId }),
  }));
  const { values, set } = form;
  return (
    <SettingsPart title="General" form={form}>
      <div className="settings-row">
        <TextField
          label="Name"
          value={values.name}
          onChange={(event) => set('name', event.target.value)}
          required
          maxLength={100}
          hint={`Its address keeps ${settings.slug}.`}
        />
        <SelectField
          label="Folder"
          value={values.folderId}
          onChange={(event) => set('folderId', event.target.value)}
          hint="Grants on a folder hold for what is in it."
          options={[
            { value: '', label: 'None' },
            ...[...pathsOf(folders)].map(([value, label]) => ({ value, label })),
          ]}
        />
      </div>
    </SettingsPart>
  );
}
