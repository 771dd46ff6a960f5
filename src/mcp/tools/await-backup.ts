/**
 * Owns waiting for a backup: its progress on the way, and how it ended.
 *
 * 1. The wait ends with the backup, at the call's limit, when the client leaves, and with an error when the
 *    right to see the backup is lost. The backup goes on.
 * 2. After the wait nothing is followed any more.
 */
import type { ToolCall } from '../tool.ts';

export interface RunState {
  id: string;
  status: string;
  [field: string]: unknown;
}

/** The last state seen, or a sentence that says why there is none. */
export type WaitedRun = { run: RunState } | { run: null; sentence: string };

export const runFields =
  'id appId databaseId destinationId status sizeBytes error startedAt finishedAt';
const stateOf = `query ($id: ID!) {
  backupRun(id: $id) { ${runFields} } far: backupRun(id: $id) { progressBytes } }`;
const changesOf = 'subscription { teamChanges { id } }';

const noRun = 'There is no such backup here any more; see list_backups.';
const open: ReadonlySet<string> = new Set(['running', 'verifying']);

export async function awaitBackup(call: ToolCall, begun: RunState): Promise<WaitedRun> {
  const { id } = begun;
  let told = '';
  const tell = (progress: string): void => {
    if (progress !== told) call.progress(progress);
    told = progress;
  };
  tell(progressOf(begun));
  const timeout = AbortSignal.timeout(Math.max(1, call.patienceMs));
  const changes = call.subscribe(changesOf, {}, timeout);
  try {
    for (let change = await changes.next(); !change.done; change = await changes.next()) {
      if (!mayConcern(change.value, [id, call.principal.teamId])) continue;
      const seen = await look(call, id, tell);
      if (seen.run === null || !open.has(seen.run.status)) return seen;
    }
  } finally {
    // An iterator that nobody reads would never learn that it is over.
    await changes.return(undefined);
  }
  return await look(call, id, tell);
}

/** Of the run itself, or of the whole team: its first change, before which none was told, is of the team. */
function mayConcern(change: string, ids: readonly string[]): boolean {
  const { data } = JSON.parse(change) as { data?: { teamChanges: { id: string } } | null };
  return !data || ids.includes(data.teamChanges.id);
}

async function look(
  call: ToolCall,
  id: string,
  tell: (progress: string) => void,
): Promise<WaitedRun> {
  const reply = await call.graphql(stateOf, { id });
  if (!reply.clean) return { run: null, sentence: reply.errors.join('\n') };
  const { backupRun: run, far } = JSON.parse(reply.dataJson) as {
    backupRun: RunState | null;
    far: { progressBytes: number | null } | null;
  };
  if (run === null) return { run, sentence: noRun };
  tell(progressOf(run, far?.progressBytes ?? 0));
  return { run };
}

function progressOf({ id, status }: RunState, bytes = 0): string {
  return `Backup ${id} is ${status}${bytes > 0 ? `, at ${String(bytes)} bytes` : ''}.`;
}
