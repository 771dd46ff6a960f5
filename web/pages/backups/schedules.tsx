/** When backups run by themselves. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, SelectField, TextField } from '../../ui/field.tsx';
import { EmptyState, Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import { cronWords, presets } from './cron.ts';
import {
  type BackupsAnswer,
  destinationName,
  type Schedule,
  ScheduleFields,
  targetName,
} from './documents.ts';
import { destinationOptions, instanceTarget, targetOf, useTargets } from './run-form.tsx';

const CreateSchedule = graphql(
  `
    mutation CreateBackupSchedule($input: CreateBackupScheduleInput!) {
      createBackupSchedule(input: $input) {
        ...ScheduleFields
      }
    }
  `,
  [ScheduleFields],
);
const UpdateSchedule = graphql(
  `
    mutation UpdateBackupSchedule($id: ID!, $enabled: Boolean!) {
      updateBackupSchedule(id: $id, enabled: $enabled) {
        ...ScheduleFields
      }
    }
  `,
  [ScheduleFields],
);
const DeleteSchedule = graphql(`
  mutation DeleteBackupSchedule($id: ID!) {
    deleteBackupSchedule(id: $id)
  }
`);

export function Schedules({ data }: { data: BackupsAnswer }) {
  const { can } = useSession();
  const [creating, setCreating] = useState(false);
  const [leaving, setLeaving] = useState<Schedule | null>(null);
  const [, update] = useMutation(UpdateSchedule);
  const [, remove] = useMutation(DeleteSchedule);
  const mayManage = can('manage_backups');
  const create = mayManage && data.backupDestinations.length > 0 && (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      New schedule
    </Button>
  );
  const set = async (id: string, enabled: boolean): Promise<void> => {
    try {
      await done(update({ id, enabled }));
    } catch (thrown) {
      toastError(thrown);
    }
  };
  const schedules = data.backupSchedules;
  return (
    <Section title="Schedules" look="bare" actions={schedules.length > 0 ? create : undefined}>
      {schedules.length === 0 ? (
        <EmptyState icon="clock" title="No schedules yet" action={create}>
          A schedule backs something up by itself, and keeps as many as you say.
        </EmptyState>
      ) : (
        <Table
          label="Schedules"
          rows={schedules}
          rowKey={({ id }) => id}
          columns={[
            { key: 'what', head: 'What', cell: (one) => <bdi>{targetName(one, data)}</bdi> },
            { key: 'when', head: 'When', cell: ({ cron, timezone }) => <span title={`${cron} (${timezone})`}>{cronWords(cron)}</span> }, // prettier-ignore
            { key: 'where', head: 'Where', lesser: true, cell: (one) => <bdi>{destinationName(one.destinationId, data)}</bdi> }, // prettier-ignore
            { key: 'keep', head: 'Keeps', lesser: true, cell: ({ keep }) => String(keep) },
            { key: 'next', head: 'Next', lesser: true, cell: ({ nextRunAt }) => (nextRunAt === null ? '–' : <RelativeTime at={nextRunAt} />) }, // prettier-ignore
            {
              ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
              cell: (one) =>
                mayManage && (
                  <span className="row-actions">
                    <Button size="small" onClick={() => void set(one.id, !one.enabled)}>
                      {one.enabled ? 'Pause' : 'Resume'}
                    </Button>
                    <Button size="small" look="ghost" onClick={() => setLeaving(one)}>
                      Delete
                    </Button>
                  </span>
                ),
            },
          ]}
        />
      )}
      <Dialog open={creating} onOpenChange={setCreating} title="New schedule">
        <ScheduleForm data={data} close={() => setCreating(false)} />
      </Dialog>
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title="Delete this schedule?"
        action="Delete the schedule"
        danger
        onConfirm={async () => {
          await done(remove({ id: leaving?.id ?? '' }));
          toast('The schedule is deleted.');
        }}
      >
        Its backups stay.
      </ConfirmDialog>
    </Section>
  );
}

const customCron = '';

function ScheduleForm({ data, close }: { data: BackupsAnswer; close: () => void }) {
  const targets = useTargets(data);
  const [target, setTarget] = useState(targets[0]?.value ?? '');
  const options = destinationOptions(data, target);
  const [chosen, setChosen] = useState('');
  const destinationId = options.find(({ value }) => value === chosen)?.value ?? options[0]?.value;
  const [preset, setPreset] = useState<string>(presets[0].cron);
  const [custom, setCustom] = useState('');
  const [keep, setKeep] = useState('7');
  const [isLocal, setLocal] = useState(true);
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, create] = useMutation(CreateSchedule);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (destinationId === undefined) return;
    const of = target === instanceTarget ? { instance: true } : targetOf(target, data);
    const cron = preset === customCron ? custom : preset;
    const timezone = isLocal ? zone : 'UTC';
    try {
      const input = { ...of, destinationId, cron, timezone, keep: Number(keep) };
      await done(create({ input }));
      close();
      toast('The schedule is made.');
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <SelectField
        label="What"
        options={targets}
        value={target}
        onChange={(event) => setTarget(event.target.value)}
      />
      <SelectField
        label="Where to"
        options={options}
        value={destinationId ?? ''}
        hint={options.length === 0 ? 'It needs a destination that encrypts.' : undefined}
        onChange={(event) => setChosen(event.target.value)}
      />
      <SelectField
        label="When"
        options={[
          ...presets.map(({ cron, label }) => ({ value: cron, label })),
          { value: customCron, label: 'Another time…' },
        ]}
        value={preset}
        onChange={(event) => setPreset(event.target.value)}
      />
      {preset === customCron && (
        <TextField
          label="Cron expression"
          required
          spellCheck={false}
          placeholder="30 2 * * 1-5"
          hint="Minute, hour, day of the month, month, day of the week."
          value={custom}
          onChange={(event) => setCustom(event.target.value)}
        />
      )}
      <Check
        label={`In the time of ${zone}`}
        checked={isLocal}
        onChange={(event) => setLocal(event.target.checked)}
      />
      <TextField
        label="Keep so many"
        type="number"
        min={1}
        required
        value={keep}
        onChange={(event) => setKeep(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={fetching}
          disabled={target === '' || destinationId === undefined}
        >
          Make the schedule
        </Button>
      </DialogActions>
    </form>
  );
}
