/** Owns how an app is built and started, and what it may use of the machine. */
import { useJson } from '../../../api/json.ts';
import { TextField } from '../../../ui/field.tsx';
import { SuggestField, type Suggestion } from '../../../ui/suggest-field.tsx';
import { SettingsPart } from './parts.tsx';
import { type Change, numberOrNull, type Settings, textOrNull, useSettingsForm } from './save.ts';

interface BuildProps {
  settings: Settings;
  nodeVersions: readonly Suggestion[];
}

export function BuildSettings({ settings, nodeVersions }: BuildProps) {
  return (
    <>
      {(settings.source === 'UPLOAD' || settings.source === 'GIT') && (
        <BuildPart settings={settings} nodeVersions={nodeVersions} />
      )}
      <ResourcesPart settings={settings} />
    </>
  );
}

const texts = [
  ['buildCommand', 'Build command', 'found out from the code', 'Such as npm run build.'],
  [
    'startCommand',
    'Start command',
    'found out from the code',
    'It has to listen on the port in PORT.',
  ],
  ['outputDir', 'Folder of built files', 'none', 'Its files are served, and nothing is started.'],
  ['dockerfile', 'Dockerfile', 'Dockerfile', 'Where the server runs containers.'],
  ['healthPath', 'Health path', 'the port alone', 'Healthy once it answers 2xx or 3xx.'],
] as const;

function BuildPart({ settings: { id, build }, nodeVersions }: BuildProps) {
  const kept = {
    buildCommand: build.buildCommand ?? '',
    startCommand: build.startCommand ?? '',
    outputDir: build.outputDir ?? '',
    dockerfile: build.dockerfile ?? '',
    nodeVersion: build.nodeVersion ?? '',
    healthPath: build.healthPath ?? '',
    port: build.port?.toString() ?? '',
  };
  const form = useSettingsForm(id, kept, (values, touched): Change => ({
    build: {
      ...Object.fromEntries(
        texts.filter(([key]) => touched.has(key)).map(([key]) => [key, textOrNull(values[key])]),
      ),
      ...(touched.has('nodeVersion') && { nodeVersion: textOrNull(values.nodeVersion) }),
      ...(touched.has('port') && { port: numberOrNull(values.port) }),
    },
  }));
  const { values, set } = form;
  return (
    <SettingsPart title="Build" form={form} note="Holds from the next deployment on.">
      <div className="settings-row">
        {texts.map(([key, label, placeholder, hint]) => (
          <TextField
            key={key}
            label={label}
            value={values[key]}
            onChange={(event) => set(key, event.target.value)}
            placeholder={placeholder}
            hint={hint}
            spellCheck={false}
            autoCapitalize="off"
          />
        ))}
        <SuggestField
          label="Node.js version"
          value={values.nodeVersion}
          onChange={(event) => set('nodeVersion', event.target.value)}
          placeholder="as the code says"
          hint="Such as 22."
          suggestions={nodeVersions}
          spellCheck={false}
        />
        <TextField
          label="Port"
          type="number"
          min={1}
          max={65535}
          value={values.port}
          onChange={(event) => set('port', event.target.value)}
          placeholder="chosen for it"
          hint="Where it cannot listen on the one in PORT."
        />
      </div>
    </SettingsPart>
  );
}

interface NodeVersions {
  versions: { version: string; lts: boolean; endOfLife: string | null }[];
}

/**
 * Any other one can be typed, so that nothing is said where the list cannot be read. The page asks, beside its query:
 * the part that shows them is only there behind it.
 */
export function useNodeVersions(): Suggestion[] {
  const { data } = useJson<NodeVersions>('/api/node-versions');
  return (data?.versions ?? []).map(({ version, lts, endOfLife }) => ({
    value: version,
    label: [lts && 'long-term support', endOfLife !== null && `until ${endOfLife}`]
      .filter(Boolean)
      .join(', '),
  }));
}

function ResourcesPart({ settings: { id, resources } }: { settings: Settings }) {
  const kept = {
    cpus: resources.cpus?.toString() ?? '',
    memoryMb: resources.memoryMb?.toString() ?? '',
    pids: resources.pids?.toString() ?? '',
    replicas: resources.replicas.toString(),
  };
  const form = useSettingsForm(id, kept, (values, touched): Change => ({
    resources: {
      ...(touched.has('cpus') && { cpus: numberOrNull(values.cpus) }),
      ...(touched.has('memoryMb') && { memoryMb: numberOrNull(values.memoryMb) }),
      ...(touched.has('pids') && { pids: numberOrNull(values.pids) }),
      ...(touched.has('replicas') && { replicas: Number(values.replicas) }),
    },
  }));
  const { values, set } = form;
  const field = (key: keyof typeof kept, label: string, hint: string, step = 1) => (
    <TextField
      label={label}
      type="number"
      min={step}
      step={step}
      value={values[key]}
      onChange={(event) => set(key, event.target.value)}
      placeholder="no bound"
      required={key === 'replicas'}
      hint={hint}
    />
  );
  return (
    <SettingsPart
      title="Resources"
      form={form}
      note="Holds from the next deployment or restart on."
    >
      <div className="settings-row">
        {field('memoryMb', 'Memory in MiB', 'Above it, it is ended and started again.')}
        {field('cpus', 'Processor cores', '1 is one core that is busy all the time.', 0.1)}
        {field('pids', 'Processes', 'And threads, all together.')}
        {field('replicas', 'Replicas', 'More than one only on a swarm.')}
      </div>
    </SettingsPart>
  );
}
