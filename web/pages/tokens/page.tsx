/** Keys by which programs act in the team. */
import { useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { done } from '../../api/done.ts';
import { Button } from '../../ui/button.tsx';
import { capabilityCount, capabilityWords } from '../../ui/capabilities.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Page as Frame, Skeleton } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { SecretOnce } from '../../ui/secret-once.tsx';
import { Badge } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { CreateTokenDialog } from './create.tsx';
import { RevokeToken, type Token, TokensQuery } from './documents.ts';

export function Page() {
  const [{ data, error }, ask] = useQuery({ query: TokensQuery });
  const [, revoke] = useMutation(RevokeToken);
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<Token | null>(null);
  const create = (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      New token
    </Button>
  );
  return (
    <Frame title="Tokens" actions={data && data.apiTokens.length > 0 ? create : null}>
      {error && <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />}
      {!data && !error && <Skeleton look="rows" />}
      {data?.apiTokens.length === 0 && (
        <EmptyState icon="key" title="No tokens yet" action={create}>
          A token lets a program use the API, deploy hooks and MCP with the rights that you give it.
        </EmptyState>
      )}
      {data && data.apiTokens.length > 0 && (
        <Table
          label="Tokens"
          rows={data.apiTokens}
          rowKey={({ id }) => id}
          columns={[
            { key: 'name', head: 'Name', cell: (token) => <Name token={token} /> },
            { key: 'rights', head: 'Rights', lesser: true, cell: rightsWords },
            { key: 'scope', head: 'Reaches', lesser: true, cell: scopeWords },
            { key: 'used', head: 'Last used', cell: ({ lastUsedAt }) => lastUsedAt === null ? 'Never' : <RelativeTime at={lastUsedAt} /> }, // prettier-ignore
            { key: 'ends', head: 'Ends', lesser: true, cell: ({ expiresAt }) => expiresAt === null ? 'Never' : <RelativeTime at={expiresAt} /> }, // prettier-ignore
            {
              ...{ key: 'actions', head: 'Actions', quietHead: true, align: 'end' as const },
              cell: (token) => (
                <Button size="small" onClick={() => setLeaving(token)}>
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
      {data && (
        <CreateTokenDialog
          open={creating}
          onOpenChange={setCreating}
          choices={data}
          onCreated={setSecret}
        />
      )}
      <SecretOnce
        title="Your new token"
        description="Copy it now: it is not shown again. Programs send it as “Authorization: Bearer …”."
        secret={secret}
        onDone={() => setSecret(null)}
      />
      <ConfirmDialog
        open={leaving !== null}
        onOpenChange={() => setLeaving(null)}
        title={`Revoke ${leaving?.name ?? ''}?`}
        action="Revoke"
        danger
        onConfirm={async () => {
          await done(revoke({ id: leaving?.id ?? '' }));
          toast(`${leaving?.name ?? ''} is revoked.`);
        }}
      >
        Whatever uses it is refused at once. This cannot be undone.
      </ConfirmDialog>
    </Frame>
  );
}

function Name({ token: { name, prefix, scopeGone } }: { token: Token }) {
  return (
    <span className="tokens-name">
      <bdi>{name}</bdi> <code>{prefix}…</code>
      {scopeGone && <Badge tone="warn">its scope is gone</Badge>}
    </span>
  );
}

function rightsWords({ capabilities }: Token): string {
  if (capabilities.length === 0) return 'Reading only';
  if (capabilities.length === capabilityCount) return 'All';
  const [first] = capabilities;
  if (capabilities.length === 1 && first !== undefined) return capabilityWords(first);
  return `${String(capabilities.length)} of ${String(capabilityCount)}`;
}

function scopeWords({ allTeams, teamIds, folderIds, appIds, databaseIds }: Token): string {
  const parts = [
    counted(folderIds.length, 'folder'),
    counted(appIds.length, 'app'),
    counted(databaseIds.length, 'database'),
  ].filter((part) => part !== null);
  if (parts.length > 0) return parts.join(', ');
  return allTeams ? 'All your teams' : (counted(teamIds.length, 'team') ?? 'This team');
}

function counted(count: number, word: string): string | null {
  if (count === 0) return null;
  return `${String(count)} ${word}${count === 1 ? '' : 's'}`;
}
