/** Owns what visitors get: the page while somebody works on the app, and bounds of their requests. */
import { Check, TextArea, TextField } from '../../../ui/field.tsx';
import { SettingsPart } from './parts.tsx';
import { type Change, numberOrNull, type Settings, textOrNull, useSettingsForm } from './save.ts';

const numbers = [
  ['maxBodyMb', 'Body of a request, in MiB', 'any', 'Above it 413.'],
  ['maxConnections', 'Requests at once', 'any', 'Above it 503.'],
  ['idleSeconds', 'Silence, in seconds', '', 'Nothing sent or taken for as long ends a request.'],
  ['totalSeconds', 'Whole request, in seconds', 'any', 'Including WebSockets and streams.'],
  ['hsts', 'Strict-Transport-Security, in seconds', 'not sent', 'Browsers then use HTTPS alone.'],
] as const;

export function EdgeSettings({ settings: { id, edge } }: { settings: Settings }) {
  const kept = {
    maintenance: edge.maintenance,
    maintenanceText: edge.maintenanceText ?? '',
    accessLog: edge.accessLog,
    maxBodyMb: edge.maxBodyMb?.toString() ?? '',
    maxConnections: edge.maxConnections?.toString() ?? '',
    idleSeconds: edge.idleSeconds.toString(),
    totalSeconds: edge.totalSeconds?.toString() ?? '',
    hsts: edge.hsts?.toString() ?? '',
  };
  const form = useSettingsForm(id, kept, (values, touched): Change => ({
    edge: {
      ...(touched.has('maintenance') && { maintenance: values.maintenance }),
      ...(touched.has('maintenanceText') && {
        maintenanceText: textOrNull(values.maintenanceText),
      }),
      ...(touched.has('accessLog') && { accessLog: values.accessLog }),
      ...Object.fromEntries(
        numbers
          .filter(([key]) => touched.has(key))
          .map(([key]) => [key, numberOrNull(values[key])]),
      ),
    },
  }));
  const { values, set } = form;
  return (
    <SettingsPart title="Visitors" form={form} note="Holds at once, for new requests.">
      <Check
        label="Show a maintenance page in its place"
        hint="Visitors get it with 503, while the app itself goes on."
        checked={values.maintenance}
        onChange={(event) => set('maintenance', event.target.checked)}
      />
      {values.maintenance && (
        <TextArea
          label="What the page says"
          rows={2}
          value={values.maintenanceText}
          onChange={(event) => set('maintenanceText', event.target.value)}
        />
      )}
      <Check
        label="Write each request into its log"
        checked={values.accessLog}
        onChange={(event) => set('accessLog', event.target.checked)}
      />
      <div className="settings-row">
        {numbers.map(([key, label, placeholder, hint]) => (
          <TextField
            key={key}
            label={label}
            type="number"
            min={key === 'hsts' ? 0 : 1}
            value={values[key]}
            onChange={(event) => set(key, event.target.value)}
            placeholder={placeholder}
            required={key === 'idleSeconds'}
            hint={hint}
          />
        ))}
      </div>
    </SettingsPart>
  );
}
