/** Programs that the person let in by OAuth. */
import { useState } from 'react';
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import type { AccountAnswer } from './page.tsx';

const RevokeGrant = graphql(`
  mutation RevokeGrant($id: ID!) {
    revokeGrant(id: $id)
  }
`);

type Grant = AccountAnswer['myGrants'][number];

export function Grants({ grants }: { grants: readonly Grant[] }) {
  const { teams } = useSession();
  const [, revoke] = useMutation(RevokeGrant);
  const [leaving, setLeaving] = useState<Grant | null>(null);
  if (grants.length === 0) return null;
  const teamOf = (id: string): string => teams.find((team) => team.id === id)?.name ?? '–';
  return (
    <Section
      title="Connected clients"
      description="Programs and AI clients that act as you."
      look="bare"
    >
      <Table
        label="Connected clients"
        rows={grants}
        rowKey={({ id }) => id}
        columns={[
          {
            ...{ key: 'client', head: 'Client' },
            cell: ({ clientName, clientHost }) => (
              <>
                <bdi>{clientName}</bdi> {clientHost !== null && <small>{clientHost}</small>}
              </>
            ),
          },
          { key: 'team', head: 'Team', lesser: true, cell: ({ teamId }) => <bdi>{teamOf(teamId)}</bdi> }, // prettier-ignore
          { key: 'rights', head: 'Rights', lesser: true, cell: ({ capabilities }) => String(capabilities.length) }, // prettier-ignore
          { key: 'used', head: 'Last used', cell: ({ lastUsedAt }) => lastUsedAt === null ? 'Never' : <RelativeTime at={lastUsedAt} /> }, // prettier-ignore
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: (grant) => (
              <Button size="small" onClick={() => setLeaving(grant)}>
                Disconnect
              </Button>
            ),
          },
        ]}
      />
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Disconnect ${leaving?.clientName ?? ''}?`}
        action="Disconnect"
        danger
        onConfirm={async () => {
          await done(revoke({ id: leaving?.id ?? '' }));
          toast(`${leaving?.clientName ?? ''} is disconnected.`);
        }}
      >
        It is refused at once, and has to ask you again.
      </ConfirmDialog>
    </Section>
  );
}
