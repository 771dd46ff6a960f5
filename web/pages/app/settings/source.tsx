/** Owns what an app is deployed from: its branch, its image, its compose file. */
import { CodeEditor } from '../../../ui/code-editor.tsx';
import { Check, TextArea, TextField } from '../../../ui/field.tsx';
import { ImageField } from '../../../ui/image-field.tsx';
import { SettingsPart } from './parts.tsx';
import { type Settings, textOrNull, useSettingsForm } from './save.ts';

export function SourceSettings({ settings }: { settings: Settings }) {
  switch (settings.source) {
    case 'GIT':
      return settings.git === null ? null : <GitPart settings={settings} git={settings.git} />;
    case 'IMAGE':
      return <ImagePart settings={settings} />;
    case 'COMPOSE':
      return <ComposePart settings={settings} />;
    case 'UPLOAD':
      return null;
  }
}

const byNext = 'Holds from the next deployment on.';

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

function GitPart({ settings, git }: { settings: Settings; git: NonNullable<Settings['git']> }) {
  const kept = {
    repository: git.repository,
    branch: git.branch,
    path: git.path ?? '',
    submodules: git.submodules,
    watchPaths: git.watchPaths.join('\n'),
    autoDeploy: settings.autoDeploy,
    previewBranches: settings.previewBranches.join('\n'),
  };
  const form = useSettingsForm(settings.id, kept, (values, touched) => {
    const { repository, branch, path, submodules, watchPaths } = values;
    const own = ['repository', 'branch', 'path', 'submodules', 'watchPaths'] as const;
    const whole = {
      ...{ repository: repository.trim(), branch: branch.trim(), submodules },
      ...{
        connectionId: git.connectionId,
        path: textOrNull(path),
        watchPaths: linesOf(watchPaths),
      },
    };
    return {
      ...(own.some((key) => touched.has(key)) && { git: whole }),
      ...(touched.has('autoDeploy') && { autoDeploy: values.autoDeploy }),
      ...(touched.has('previewBranches') && { previewBranches: linesOf(values.previewBranches) }),
    };
  });
  const { values, set } = form;
  return (
    <SettingsPart title="Git" form={form} note={byNext}>
      <div className="settings-row">
        <TextField
          label="Repository"
          value={values.repository}
          onChange={(event) => set('repository', event.target.value)}
          required
          spellCheck={false}
        />
        <TextField
          label="Branch"
          value={values.branch}
          onChange={(event) => set('branch', event.target.value)}
          required
          spellCheck={false}
        />
        <TextField
          label="Folder in the repository"
          value={values.path}
          onChange={(event) => set('path', event.target.value)}
          placeholder="the top one"
          spellCheck={false}
        />
      </div>
      <Check
        label="Deploy each push to this branch"
        checked={values.autoDeploy}
        onChange={(event) => set('autoDeploy', event.target.checked)}
      />
      <Check
        label="Fetch submodules, too"
        checked={values.submodules}
        onChange={(event) => set('submodules', event.target.checked)}
      />
      <div className="settings-row">
        <TextArea
          label="Only for changes of"
          rows={3}
          value={values.watchPaths}
          onChange={(event) => set('watchPaths', event.target.value)}
          placeholder="every file"
          hint="A push that changes none of these files and folders deploys nothing. One a line."
          spellCheck={false}
        />
        <TextArea
          label="Previews of branches"
          rows={3}
          value={values.previewBranches}
          onChange={(event) => set('previewBranches', event.target.value)}
          placeholder="feat/*"
          hint="Each branch of such a name is shown at an address of its own. One pattern a line."
          spellCheck={false}
        />
      </div>
    </SettingsPart>
  );
}

function ImagePart({ settings }: { settings: Settings }) {
  const kept = { image: settings.image ?? '' };
  const form = useSettingsForm(settings.id, kept, ({ image }) => ({ image: image.trim() }));
  return (
    <SettingsPart title="Image" form={form} note={byNext}>
      <ImageField
        value={form.values.image}
        onChange={(image) => form.set('image', image)}
        required
      />
    </SettingsPart>
  );
}

function ComposePart({ settings }: { settings: Settings }) {
  const kept = { compose: settings.compose ?? '' };
  const form = useSettingsForm(settings.id, kept, ({ compose }) => ({ compose }));
  return (
    <SettingsPart title="Compose file" form={form} note={byNext}>
      <CodeEditor
        label="Compose file"
        language="yaml"
        value={form.values.compose}
        onChange={(compose) => form.set('compose', compose)}
      />
    </SettingsPart>
  );
}
