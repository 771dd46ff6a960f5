/** Owns what is around each page of an app: its name and state, what can be done with it, and the way to its other pages. */
import type { ReactNode } from 'react';
import { useQuery } from 'urql';
import { NotFound } from '../../shell/pages.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Page, Skeleton } from '../../ui/page.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { TabLinks } from '../../ui/tabs.tsx';
import { AppActions } from './actions.tsx';
import { type App, AppHeadQuery, appTabs, mayOn } from './app-parts.ts';
import { useLiveApp } from './live-app.ts';

const crumbs = [{ href: '/', label: 'Overview' }];

interface AppFrameProps {
  id: string;
  /** Of the page, as its tab says; empty for the overview. */
  title?: string;
  width?: 'normal' | 'full';
  /** Gets the app, once it is known. */
  children: (app: App) => ReactNode;
}

export function AppFrame({ id, title = '', width = 'normal', children }: AppFrameProps) {
  const [{ data, error }, ask] = useQuery({ query: AppHeadQuery, variables: { id } });
  const again = (): void => ask({ requestPolicy: 'network-only' });
  useLiveApp(id);
  const app = data?.app;
  if (app == null) {
    if (data !== undefined && error === undefined) return <NotFound what="app" />;
    return (
      <Page title="App" crumbs={crumbs} width={width}>
        {error ? <ErrorNote error={error} retry={again} /> : <Skeleton lines={6} look="rows" />}
      </Page>
    );
  }
  const tabs = appTabs
    .filter(({ needs, of }) => (needs === undefined || mayOn(app, needs)) && of?.(app) !== false)
    .map(({ path, label }) => ({ href: `/apps/${id}${path}`, label }));
  return (
    <Page
      title={app.name}
      tab={title}
      width={width}
      crumbs={
        app.previewOf === null
          ? crumbs
          : [
              { href: `/apps/${app.previewOf}/git`, label: 'The app that it is a preview of' },
              ...crumbs,
            ]
      }
      beside={<StatusDot status={app.status} />}
      actions={<AppActions app={app} />}
    >
      <AppAddress app={app} />
      <TabLinks label={`Pages of ${app.name}`} tabs={tabs} />
      {children(app)}
    </Page>
  );
}

function AppAddress({ app: { url, status } }: { app: App }) {
  if (url === null) return null;
  const words = url.replace(/^https?:\/\//, '');
  if (status === 'idle')
    return <p className="app-address app-muted page-above">{words}, once it is deployed</p>;
  return (
    <p className="app-address page-above">
      <a href={url} target="_blank" rel="noreferrer">
        {words} <Icon name="external" size={14} />
      </a>
    </p>
  );
}
