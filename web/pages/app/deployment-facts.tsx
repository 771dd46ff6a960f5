/** Owns how a deployment is told in few words: what it is of, who caused it, and how long it took. */
import { useEffect, useState } from 'react';
import { type Deployment, isUnderWay } from './app-parts.ts';

const triggers: Readonly<Record<string, string>> = {
  api: 'By the API',
  dashboard: 'From the dashboard',
  deploy_hook: 'By the deploy hook',
  git_push: 'By a push',
  mcp: 'By an AI client',
  rollback: 'Rolled back',
};

export function triggerOf({ trigger }: Pick<Deployment, 'trigger'>): string {
  return triggers[trigger] ?? trigger;
}

/** The first line of the commit's message, or what else it is of. */
export function titleOf(deployment: Deployment): string {
  const line = deployment.commitMessage?.split('\n', 1)[0]?.trim() ?? '';
  return line === '' ? triggerOf(deployment) : line;
}

/** Such as "1 min 12 s". */
export function durationInWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${String(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${String(minutes)} min ${String(seconds % 60)} s`;
  return `${String(Math.floor(minutes / 60))} h ${String(minutes % 60)} min`;
}

/** How long it took, or takes so far. */
export function Duration({ deployment }: { deployment: Deployment }) {
  const { startedAt, finishedAt } = deployment;
  const runs = startedAt !== null && isUnderWay(deployment);
  const now = useNow(runs);
  if (startedAt === null) return <>–</>;
  const end = finishedAt === null ? now : Date.parse(finishedAt);
  return <span className="app-duration">{durationInWords(end - Date.parse(startedAt))}</span>;
}

function useNow(ticks: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!ticks) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [ticks]);
  return now;
}

/** Branch and commit, where it is of a repository. */
export function CommitLine({ deployment: { branch, commitSha } }: { deployment: Deployment }) {
  if (commitSha === null) return null;
  return (
    <span className="app-commit">
      {branch !== null && <bdi>{branch}</bdi>} <code>{commitSha.slice(0, 7)}</code>
    </span>
  );
}
