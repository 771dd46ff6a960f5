/** Owns where an app or a database runs, and moving it to another server. */
import { type ReactNode, useState } from 'react';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { choosable, type ServerChoice, ServerField } from './server-field.tsx';

export const MoveState = graphql(`
  fragment MoveState on Move {
    fromServerId
    toServerId
    phase
    copiedBytes
    error
  }
`);

export interface ServerSectionProps {
  name: string;
  serverId: string;
  move: ResultOf<typeof MoveState> | null;
  servers: readonly ResultOf<typeof ServerChoice>[];
  /** Rejects with why it is refused. */
  onMove: (serverId: string) => Promise<unknown>;
}

/** Nothing where there is one server alone. */
export function ServerSection({ name, serverId, move, servers, onMove }: ServerSectionProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [asks, setAsks] = useState(false);
  if (choosable(servers).length < 2) return null;
  const nameOf = (id: string): string => servers.find((one) => one.id === id)?.name ?? id;
  const isMoving = move?.phase === 'copying' || move?.phase === 'starting';
  const target = chosen ?? serverId;
  return (
    <Section
      title="Server"
      description="It is moved with its data. It is stopped while that goes over, and goes on here when it is not well there."
    >
      {move !== null && <p role="status">{told(move, nameOf)}</p>}
      <ServerField
        label="Runs on"
        servers={servers}
        current={serverId}
        value={target}
        disabled={isMoving}
        onChange={setChosen}
      />
      <div>
        {isMoving ? (
          <Button onClick={() => void onMove(move.fromServerId).catch(() => undefined)}>
            Leave it where it was
          </Button>
        ) : (
          <Button disabled={target === serverId} onClick={() => setAsks(true)}>
            Move…
          </Button>
        )}
      </div>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Move ${name} to ${nameOf(target)}?`}
        action="Move it"
        onConfirm={async () => {
          await onMove(target);
          setChosen(null);
        }}
      >
        It cannot be reached while its data goes over.
      </ConfirmDialog>
    </Section>
  );
}

function told(
  { phase, fromServerId, toServerId, copiedBytes, error }: ResultOf<typeof MoveState>,
  nameOf: (id: string) => string,
): ReactNode {
  const way = `from ${nameOf(fromServerId)} to ${nameOf(toServerId)}`;
  if (phase === 'copying') {
    return `It is moved ${way}: ${(copiedBytes / 2 ** 20).toFixed(1)} MiB are copied.`;
  }
  if (phase === 'starting') return `It is moved ${way}: it starts there.`;
  if (phase === 'failed') return `It was not moved ${way}. ${error ?? ''}`;
  return `It was moved ${way}.`;
}
