/** Owns how far a deployment is: queued, built, started, live. */
import { Icon } from '../../../ui/icon.tsx';
import type { Deployment } from '../app-parts.ts';
import { Duration } from '../deployment-facts.tsx';
import { placeInQueue } from '../deployments/page.tsx';

const steps = [
  { status: 'queued', label: 'Queued' },
  { status: 'building', label: 'Build' },
  { status: 'starting', label: 'Start' },
  { status: 'ready', label: 'Live' },
] as const;

type StepState = 'done' | 'now' | 'ahead' | 'failed';

export function Steps({ deployment }: { deployment: Deployment }) {
  const { status, queuePosition } = deployment;
  const at = steps.findIndex((step) => step.status === status);
  const isOver = at === -1;
  return (
    <ol className="steps" aria-label="Progress">
      {steps.map(({ label }, index) => {
        const state = stateOf(deployment, index, at);
        return (
          <li
            key={label}
            className={`step step-${state}`}
            aria-current={state === 'now' ? 'step' : undefined}
          >
            <span className="step-mark">
              {state === 'done' && <Icon name="check" size={12} />}
              {state === 'failed' && <Icon name="x" size={12} />}
            </span>
            <span className="step-label">{label}</span>
            <span className="step-more">
              {state === 'now' && status === 'queued' && queuePosition !== null
                ? placeInQueue(queuePosition)
                : state === 'now' && <Duration deployment={deployment} />}
              {state === 'failed' && isOver && status}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function stateOf({ status, startedAt }: Deployment, index: number, at: number): StepState {
  if (status === 'ready') return 'done';
  if (at >= 0) return index < at ? 'done' : index === at ? 'now' : 'ahead';
  // It is over without being live: where it ended is told by its log; whether it began at all, here.
  const endedIn = startedAt === null ? 0 : 1;
  return index < endedIn ? 'done' : index === endedIn ? 'failed' : 'ahead';
}
