/** The people of the team, their roles, and those who were invited. */
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { type ApiError, toApiError } from '../../api/errors.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';
import { Badge } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import type { Member, Role, TeamAnswer } from './documents.ts';

const UpdateMember = graphql(`
  mutation UpdateMember($userId: ID!, $roleId: ID!) {
    updateMember(userId: $userId, roleId: $roleId) {
      userId
      role {
        id
        name
        builtIn
        capabilities
      }
    }
  }
`);
const RemoveMember = graphql(`
  mutation RemoveMember($userId: ID!) {
    removeMember(userId: $userId)
  }
`);
const Invite = graphql(`
  mutation InviteMember($email: String!, $roleId: ID!) {
    inviteMember(email: $email, roleId: $roleId)
  }
`);
const RevokeInvite = graphql(`
  mutation RevokeInvite($id: ID!) {
    revokeInvite(id: $id)
  }
`);

export function People({ data }: { data: TeamAnswer }) {
  const { can } = useSession();
  const [inviting, setInviting] = useState(false);
  const [link, setLink] = useState<string | null>(null);
  const mayManage = can('manage_members');
  return (
    <>
      <Section
        title={`${String(data.members.length)} ${data.members.length === 1 ? 'person' : 'people'}`}
        look="bare"
        actions={
          mayManage && (
            <Button look="primary" icon="plus" onClick={() => setInviting(true)}>
              Invite
            </Button>
          )
        }
      >
        <Members members={data.members} roles={data.roles} mayManage={mayManage} />
      </Section>
      {data.invites && data.invites.length > 0 && <Invites invites={data.invites} />}
      <Dialog
        open={inviting}
        onOpenChange={setInviting}
        title="Invite somebody"
        description="You get a link, good for 7 days and for this address alone. Send it as you like."
      >
        <InviteForm roles={data.roles} close={() => setInviting(false)} onLink={setLink} />
      </Dialog>
      <SecretOnce
        title="The invite"
        description="Send this link. It is not shown again; a new invite makes a new one."
        secret={link}
        onDone={() => setLink(null)}
      />
    </>
  );
}

interface MembersProps {
  members: readonly Member[];
  roles: readonly Role[];
  mayManage: boolean;
}

function Members({ members, roles, mayManage }: MembersProps) {
  const { me, team } = useSession();
  const [, update] = useMutation(UpdateMember);
  const [, remove] = useMutation(RemoveMember);
  const [leaving, setLeaving] = useState<Member | null>(null);
  const options = roles.map(({ id, name }) => ({ value: id, label: name }));
  const change = async (userId: string, roleId: string): Promise<void> => {
    try {
      const { updateMember } = await done(update({ userId, roleId }));
      toast(`The role is ${updateMember.role.name} now.`);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  const isMe = leaving?.userId === me.id;
  return (
    <>
      <Table
        label="People"
        rows={members}
        rowKey={({ userId }) => userId}
        columns={[
          {
            ...{ key: 'name', head: 'Name' },
            cell: ({ name, userId }) => (
              <span className="team-person">
                <Avatar seed={userId} />
                <bdi>{name}</bdi> {userId === me.id && <Badge>you</Badge>}
              </span>
            ),
          },
          { key: 'email', head: 'Email', lesser: true, cell: ({ email }) => email },
          {
            ...{ key: 'role', head: 'Role' },
            cell: ({ userId, name, role }) =>
              mayManage ? (
                <SelectField
                  label={`Role of ${name}`}
                  quiet
                  options={options}
                  value={role.id}
                  onChange={(event) => void change(userId, event.target.value)}
                />
              ) : (
                role.name
              ),
          },
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: (member) =>
              (mayManage || member.userId === me.id) && (
                <Button size="small" onClick={() => setLeaving(member)}>
                  {member.userId === me.id ? 'Leave' : 'Remove'}
                </Button>
              ),
          },
        ]}
      />
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={isMe ? `Leave ${team?.name ?? 'the team'}?` : `Remove ${leaving?.name ?? ''}?`}
        action={isMe ? 'Leave' : 'Remove'}
        danger
        onConfirm={async () => {
          await done(remove({ userId: leaving?.userId ?? '' }));
          if (isMe) location.assign('/');
          else toast(`${leaving?.name ?? ''} is no longer in the team.`);
        }}
      >
        Sessions, tokens and streams that act in this team end at once.
      </ConfirmDialog>
    </>
  );
}

function Invites({ invites }: { invites: NonNullable<TeamAnswer['invites']> }) {
  const [, revoke] = useMutation(RevokeInvite);
  const take = async (id: string): Promise<void> => {
    try {
      await done(revoke({ id }));
      toast('The invite is taken back.');
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Section title="Invited" look="bare">
      <Table
        label="Invited"
        rows={invites}
        rowKey={({ id }) => id}
        columns={[
          { key: 'email', head: 'Email', cell: ({ email }) => email },
          { key: 'role', head: 'Role', lesser: true, cell: ({ role }) => role.name },
          { key: 'ends', head: 'Ends', cell: ({ expiresAt }) => <RelativeTime at={expiresAt} /> },
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: ({ id }) => (
              <Button size="small" onClick={() => void take(id)}>
                Take back
              </Button>
            ),
          },
        ]}
      />
    </Section>
  );
}

interface InviteFormProps {
  roles: readonly Role[];
  close: () => void;
  onLink: (link: string) => void;
}

function InviteForm({ roles, close, onLink }: InviteFormProps) {
  const [email, setEmail] = useState('');
  const [roleId, setRoleId] = useState(() => lowest(roles)?.id ?? '');
  const [error, setError] = useState<ApiError | null>(null);
  const [{ fetching }, invite] = useMutation(Invite);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      const { inviteMember } = await done(invite({ email, roleId }));
      close();
      onLink(inviteMember);
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  };
  return (
    <form className="dialog-body" onSubmit={(event) => void submit(event)}>
      <TextField
        label="Email"
        type="email"
        required
        autoFocus
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <SelectField
        label="Role"
        options={roles.map(({ id, name }) => ({ value: id, label: name }))}
        value={roleId}
        onChange={(event) => setRoleId(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={close}>Cancel</Button>
        <Button type="submit" look="primary" busy={fetching} disabled={email === ''}>
          Make the link
        </Button>
      </DialogActions>
    </form>
  );
}

/** The role that gives least: nobody is made an owner by accident. */
function lowest(roles: readonly Role[]): Role | undefined {
  return [...roles].sort((a, b) => a.capabilities.length - b.capabilities.length)[0];
}
