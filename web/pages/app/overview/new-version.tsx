/** Owns deploying another version of an app that is built from what is sent. */
import { useState } from 'react';
import { useLocation } from 'wouter';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { archiveOf, type Chosen } from '../../new-app/chosen.ts';
import { useDeploy } from '../../new-app/deploy.ts';
import { DropZone } from '../../new-app/drop-zone.tsx';
import { Progress } from '../../new-app/progress.tsx';

export function NewVersion({ appId }: { appId: string }) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const { state, deploy, cancel } = useDeploy(appId);
  const [, navigate] = useLocation();
  const isBusy = state.at !== 'idle' && state.at !== 'failed';
  const run = async (): Promise<void> => {
    if (chosen === null) return;
    const done = await deploy({ input: null, archive: archiveOf(chosen), deploys: true });
    if (done?.deploymentId != null) navigate(`/apps/${appId}/deployments/${done.deploymentId}`);
  };
  return (
    <div className="new-app">
      <DropZone chosen={chosen} onChosen={setChosen} disabled={isBusy} />
      {state.at === 'failed' && <ErrorNote error={state.error} />}
      <Progress state={state} />
      {chosen !== null && (
        <div className="new-app-actions">
          {isBusy && <Button onClick={cancel}>Cancel</Button>}
          <Button look="primary" icon="rocket" busy={isBusy} onClick={() => void run()}>
            {state.at === 'failed' ? 'Try again' : 'Deploy it'}
          </Button>
        </div>
      )}
    </div>
  );
}
