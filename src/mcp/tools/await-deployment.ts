/**
 * Owns waiting for a deployment: its progress on the way, and how it ended.
 *
 * 1. The wait ends with the deployment, at the time limit, when the client leaves, and with an error when
 *    the right to see the deployment is lost.
 * 2. A failed deployment comes with the end of its log.
 * 3. After the wait nothing is followed any more.
 */
import type { ToolCall } from '../tool.ts';
import { plainText } from '../../protocol/plain-text.ts';

export interface DeploymentState {
  id: string;
  appId: string;
  status: string;
  /** The end of the log of a failed deployment: an entry for each line. */
  log?: string[];
  [field: string]: unknown;
}

/** The last state seen, or a sentence that says why there is none. */
export type Waited = { state: DeploymentState } | { state: null; sentence: string };

const stateOf = `query ($id: ID!) { deployment(id: $id) {
  id appId status trigger url error commitSha branch createdAt startedAt finishedAt } }`;
const changesOf = 'subscription ($id: ID!) { appStatus(id: $id) { status } }';
const endOfLog = `query ($id: ID!, $lines: Int) { deployment(id: $id) {
  logTail(lines: $lines) { nodes { text } } } }`;

export const noDeployment =
  'There is no such deployment here; list_deployments names those of an app.';

const failedLines = 60;
const open: ReadonlySet<string> = new Set(['queued', 'building', 'starting']);

export async function awaitDeployment(
  call: ToolCall,
  id: string,
  timeoutMs: number,
): Promise<Waited> {
  let seen = await look(call, id);
  if (seen.state === null || !open.has(seen.state.status)) return await withLog(call, seen);
  call.progress(`Deployment ${id} is ${seen.state.status}.`);
  const timeout = AbortSignal.timeout(Math.max(1, timeoutMs));
  const changes = call.subscribe(changesOf, { id: seen.state.appId }, timeout);
  try {
    for (let change = await changes.next(); !change.done; change = await changes.next()) {
      const before = seen.state.status;
      seen = await look(call, id);
      if (seen.state === null) return seen;
      if (seen.state.status !== before) call.progress(`Deployment ${id} is ${seen.state.status}.`);
      if (!open.has(seen.state.status)) return await withLog(call, seen);
    }
  } finally {
    // An iterator that nobody reads would never learn that it is over.
    await changes.return(undefined);
  }
  // The time is over, or the app is gone, and with it the seen state.
  return await withLog(call, await look(call, id));
}

export function isOpen({ status }: DeploymentState): boolean {
  return open.has(status);
}

async function look(call: ToolCall, id: string): Promise<Waited> {
  const reply = await call.graphql(stateOf, { id });
  if (!reply.clean) return { state: null, sentence: reply.errors.join('\n') };
  const { deployment } = JSON.parse(reply.dataJson) as { deployment: DeploymentState | null };
  if (deployment) return { state: deployment };
  return { state: null, sentence: noDeployment };
}

async function withLog(call: ToolCall, seen: Waited): Promise<Waited> {
  if (seen.state?.status !== 'failed') return seen;
  const reply = await call.graphql(endOfLog, { id: seen.state.id, lines: failedLines });
  const data = JSON.parse(reply.dataJson) as {
    deployment?: { logTail: { nodes: { text: string }[] } } | null;
  } | null;
  const lines = data?.deployment?.logTail.nodes ?? [];
  return { state: { ...seen.state, log: lines.map(({ text }) => plainText(text)) } };
}
