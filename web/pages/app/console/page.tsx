/** A shell in the running app. */
import type { PageProps } from '../../../shell/routes.ts';
import { ButtonLink } from '../../../ui/button.tsx';
import { EmptyState } from '../../../ui/page.tsx';
import { Terminal } from '../../../ui/terminal.tsx';
import { type App, mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';

export function Page({ params: { id = '' } }: PageProps) {
  return (
    <AppFrame id={id} title="Console">
      {(app) => <Console app={app} />}
    </AppFrame>
  );
}

function Console({ app }: { app: App }) {
  if (!mayOn(app, 'open_app_console')) {
    return (
      <EmptyState icon="terminal" title="You may not open consoles of this app">
        It takes the right “Open consoles of apps”, which somebody who manages the team can give
        you.
      </EmptyState>
    );
  }
  if (app.status !== 'active') {
    return (
      <EmptyState
        icon="terminal"
        title="The app does not run"
        action={<ButtonLink href={`/apps/${app.id}`}>To the app</ButtonLink>}
      >
        Deploy or start it, and a shell opens here.
      </EmptyState>
    );
  }
  return <Terminal attach={`/api/apps/${app.id}/attach`} label={`Console of ${app.name}`} />;
}
