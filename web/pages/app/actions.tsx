/** Owns what can be done with a whole app: deploy it, start it, stop it. What the caller may not do is not there. */
import { useState } from 'react';
import { type CombinedError, useMutation } from 'urql';
import { useLocation } from 'wouter';
import { graphql } from '../../api/graphql.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import { type App, AppHead, DeploymentState, mayOn } from './app-parts.ts';

export const Redeploy = graphql(
  `
    mutation Redeploy($appId: ID!) {
      redeploy(appId: $appId) {
        ...DeploymentState
      }
    }
  `,
  [DeploymentState],
);

const StartApp = graphql(
  `
    mutation StartApp($id: ID!) {
      startApp(id: $id) {
        ...AppHead
      }
    }
  `,
  [AppHead],
);
const StopApp = graphql(
  `
    mutation StopApp($id: ID!) {
      stopApp(id: $id) {
        ...AppHead
      }
    }
  `,
  [AppHead],
);
const RestartApp = graphql(
  `
    mutation RestartApp($id: ID!) {
      restartApp(id: $id) {
        ...AppHead
      }
    }
  `,
  [AppHead],
);

/** Queues a deployment, and goes to it. */
export function useRedeploy(appId: string): { busy: boolean; redeploy: () => Promise<void> } {
  const [{ fetching }, mutate] = useMutation(Redeploy);
  const [, navigate] = useLocation();
  const redeploy = async (): Promise<void> => {
    const { data, error } = await mutate({ appId });
    if (error) toastError(error);
    else if (data) navigate(`/apps/${appId}/deployments/${data.redeploy.id}`);
  };
  return { busy: fetching, redeploy };
}

export function AppActions({ app }: { app: App }) {
  const { busy, redeploy } = useRedeploy(app.id);
  const mayDeploy = mayOn(app, 'deploy_apps') && !(app.source === 'UPLOAD' && app.upload === null);
  return (
    <>
      {mayOn(app, 'control_apps') && app.status !== 'idle' && <PowerMenu app={app} />}
      {mayDeploy && (
        <Button
          look={app.latestDeployment === null ? 'primary' : 'plain'}
          icon="rocket"
          busy={busy}
          onClick={() => void redeploy()}
        >
          {app.latestDeployment === null ? 'Deploy' : 'Redeploy'}
        </Button>
      )}
    </>
  );
}

function PowerMenu({ app }: { app: App }) {
  const [asks, setAsks] = useState(false);
  const [, start] = useMutation(StartApp);
  const [, stop] = useMutation(StopApp);
  const [, restart] = useMutation(RestartApp);
  const { id, name, status, previewOf } = app;
  const isStopped = status === 'stopped';
  type Act = (variables: { id: string }) => Promise<{ error?: CombinedError | undefined }>;
  const run = async (act: Act, done: string): Promise<void> => {
    const { error } = await act({ id });
    if (error) toastError(error);
    else toast(done);
  };
  return (
    <>
      <Menu trigger={<IconButton icon="more" label="Start and stop" look="plain" />}>
        {isStopped ? (
          <MenuItem icon="play" onSelect={() => void run(start, `${name} starts.`)}>
            Start
          </MenuItem>
        ) : (
          <>
            <MenuItem
              icon="refresh"
              hint="The old one serves until the new one is healthy"
              onSelect={() => void run(restart, `${name} restarts.`)}
            >
              Restart
            </MenuItem>
            {previewOf === null && (
              <MenuItem icon="stop" danger onSelect={() => setAsks(true)}>
                Stop…
              </MenuItem>
            )}
          </>
        )}
      </Menu>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Stop ${name}?`}
        action="Stop"
        danger
        onConfirm={async () => {
          const { error } = await stop({ id });
          if (error) throw error;
        }}
      >
        Visitors get an error page until it is started again. Its data stays.
      </ConfirmDialog>
    </>
  );
}
