/** What holds for the whole team: its name, two-factor, MCP, and its end. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { Link } from 'wouter';
import { done } from '../../api/done.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, TextField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';
import { exactTime } from '../../ui/relative-time.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import { McpSwitch } from '../mcp/standing.tsx';
import type { TeamAnswer } from './documents.ts';

const UpdateTeam = graphql(`
  mutation UpdateTeam($name: String, $requireTwoFactor: Boolean, $days: Int) {
    updateTeam(name: $name, requireTwoFactor: $requireTwoFactor, twoFactorGraceDays: $days) {
      id
      name
      requireTwoFactor
      twoFactorGraceUntil
    }
  }
`);
const CreateTeam = graphql(`
  mutation CreateTeam($name: String!) {
    createTeam(name: $name) {
      id
      name
    }
  }
`);
const DeleteTeam = graphql(`
  mutation DeleteTeam($id: ID!) {
    deleteTeam(id: $id)
  }
`);

interface SettingsProps {
  data: TeamAnswer;
  again: () => void;
}

export function Settings({ data, again }: SettingsProps) {
  const { can } = useSession();
  const mayManage = can('manage_team');
  return (
    <>
      {mayManage && <Name key={data.viewerTeam?.name} name={data.viewerTeam?.name ?? ''} />}
      <TwoFactor data={data} again={again} />
      <Section title="MCP">
        <McpSwitch isOn={data.mcpSettings.enabled} again={again} />
        <p className="team-without">
          <Link href="/mcp">How clients are connected</Link>, and whose may be.
        </p>
      </Section>
      <NewTeam />
      {mayManage && <Danger />}
    </>
  );
}

function Name({ name }: { name: string }) {
  const [text, setText] = useState(name);
  const [{ fetching, error }, update] = useMutation(UpdateTeam);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const answer = await update({ name: text });
    if (!answer.error) toast('The name is saved.');
  };
  return (
    <Section title="Name">
      <form className="team-form" onSubmit={(event) => void submit(event)}>
        <TextField
          label="Name of the team"
          quiet
          required
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" busy={fetching} disabled={text.trim() === '' || text === name}>
          Save
        </Button>
      </form>
      {error && <ErrorNote error={error} />}
    </Section>
  );
}

function TwoFactor({ data: { viewerTeam: team }, again }: SettingsProps) {
  const { can, me } = useSession();
  const [, update] = useMutation(UpdateTeam);
  if (team === null) return null;
  const without = team.withoutTwoFactor ?? [];
  const mayManage = can('manage_team');
  const change = async (requireTwoFactor: boolean): Promise<void> => {
    try {
      await done(update({ requireTwoFactor, days: 7 }));
      again();
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Section title="Two-factor">
      <Check
        look="switch"
        label="Everybody in the team needs it"
        hint={twoFactorHint(mayManage, me.twoFactorEnabled || team.requireTwoFactor)}
        checked={team.requireTwoFactor}
        disabled={!mayManage || (!me.twoFactorEnabled && !team.requireTwoFactor)}
        onChange={(event) => void change(event.target.checked)}
      />
      {team.twoFactorGraceUntil !== null && (
        <p>Whoever lacks it may go on until {exactTime(team.twoFactorGraceUntil)}.</p>
      )}
      {without.length > 0 && (
        <p className="team-without">
          Without it:{' '}
          {without.map(({ member, tokens }) => lacks(member.name, tokens.length)).join(', ')}.
        </p>
      )}
    </Section>
  );
}

function twoFactorHint(mayManage: boolean, hasIt: boolean): string {
  if (!mayManage) return 'It takes the right “Manage the team” to change this.';
  if (!hasIt) return 'Turn it on for your own account first.';
  return 'People without it have 7 days from then on; later they and their tokens are kept out.';
}

function lacks(name: string, tokens: number): string {
  return tokens === 0 ? name : `${name} (with ${String(tokens)} tokens)`;
}

function NewTeam() {
  const { switchTeam } = useSession();
  const [open, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [{ fetching, error }, create] = useMutation(CreateTeam);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const answer = await create({ name });
    if (answer.error || !answer.data) return;
    setOpen(false);
    try {
      await switchTeam(answer.data.createTeam.id);
      toast(`${name} is there. You act in it now.`);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Section title="Another team">
      <p>Apps, databases, people and backups of teams are apart from each other.</p>
      <div>
        <Button icon="plus" onClick={() => setOpen(true)}>
          New team
        </Button>
      </div>
      <Dialog open={open} onOpenChange={setOpen} title="New team">
        <form className="dialog-body" onSubmit={(event) => void submit(event)}>
          <TextField
            label="Name"
            required
            autoFocus
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          {error && <ErrorNote error={error} />}
          <DialogActions>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="primary" busy={fetching} disabled={name.trim() === ''}>
              Create
            </Button>
          </DialogActions>
        </form>
      </Dialog>
    </Section>
  );
}

function Danger() {
  const { team, teams, switchTeam } = useSession();
  const [open, setOpen] = useState(false);
  const [, remove] = useMutation(DeleteTeam);
  if (team === null) return null;
  return (
    <Section title="Delete the team" look="danger">
      <p>
        Its apps and databases must be deleted first. Its tokens, roles and connections go with it.
      </p>
      <div>
        <Button look="danger" onClick={() => setOpen(true)}>
          Delete this team
        </Button>
      </div>
      <ConfirmDialog
        open={open}
        onOpenChange={setOpen}
        title={`Delete ${team.name}?`}
        action="Delete the team"
        danger
        typed={team.name}
        onConfirm={async () => {
          await done(remove({ id: team.id }));
          const other = teams.find(({ id }) => id !== team.id);
          if (other) await switchTeam(other.id);
          location.assign('/');
        }}
      >
        There is no way back.
      </ConfirmDialog>
    </Section>
  );
}
