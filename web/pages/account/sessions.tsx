/** Where the person is signed in. */
import { useMutation } from 'urql';
import { done } from '../../api/done.ts';
import { graphql } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Badge } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import type { AccountAnswer } from './page.tsx';
import { browserWords } from './browsers.ts';

const RevokeSession = graphql(`
  mutation RevokeSession($id: ID!) {
    revokeSession(id: $id)
  }
`);

export function Sessions({ sessions }: { sessions: AccountAnswer['mySessions'] }) {
  const [, revoke] = useMutation(RevokeSession);
  const end = async (id: string): Promise<void> => {
    try {
      await done(revoke({ id }));
      toast('That session is signed out.');
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Section title="Sessions" description="Browsers that are signed in as you." look="bare">
      <Table
        label="Sessions"
        rows={sessions}
        rowKey={({ id }) => id}
        columns={[
          {
            ...{ key: 'browser', head: 'Browser' },
            cell: ({ userAgent, current }) => (
              <span title={userAgent ?? undefined}>
                {browserWords(userAgent)} {current && <Badge tone="good">this one</Badge>}
              </span>
            ),
          },
          { key: 'address', head: 'Address', lesser: true, cell: ({ address }) => address ?? '–' },
          {
            ...{ key: 'seen', head: 'Last seen' },
            cell: ({ lastSeenAt, createdAt }) => <RelativeTime at={lastSeenAt ?? createdAt} />,
          },
          {
            ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
            cell: ({ id, current }) =>
              !current && (
                <Button size="small" onClick={() => void end(id)}>
                  Sign out
                </Button>
              ),
          },
        ]}
      />
    </Section>
  );
}
