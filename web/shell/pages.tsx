/** Owns showing the page of the current path; its script is loaded when somebody comes. */
import { type ComponentType, lazy, Suspense } from 'react';
import { Route as RouteAt, Switch, useLocation } from 'wouter';
import { ButtonLink } from '../ui/button.tsx';
import { EmptyState, Page, Skeleton } from '../ui/page.tsx';
import { Boundary, pageLoaded } from './boundary.tsx';
import { type PageProps, type Route, routes } from './routes.ts';

const lazyPages = routes.map(({ path, load }) => ({ path, Shown: lazyPage(load) }));

function lazyPage(load: Route['load']): ComponentType<PageProps> {
  return lazy(async () => {
    const { Page } = await loaded(load);
    pageLoaded();
    return { default: Page };
  });
}

const againMs = 2_000;

/** While the server is out of reach it is tried again; the frame says so meanwhile. */
export async function loaded<Module>(load: () => Promise<Module>): Promise<Module> {
  for (;;) {
    try {
      return await load();
    } catch {
      const isReached = await fetch(location.origin, { method: 'HEAD' }).catch(() => null);
      // It was out of reach a moment ago, or it is the script that is gone, as `Boundary` then hears.
      if (isReached !== null) return await load();
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }
}

export function Pages() {
  const [path] = useLocation();
  return (
    <Boundary at={path}>
      <Suspense fallback={<Loading />}>
        <Switch>
          {lazyPages.map(({ path: pattern, Shown }) => (
            <RouteAt key={pattern} path={pattern}>
              {(params) => <Shown params={params} />}
            </RouteAt>
          ))}
          <RouteAt>
            <NotFound />
          </RouteAt>
        </Switch>
      </Suspense>
    </Boundary>
  );
}

function Loading() {
  return (
    <div className="page">
      <Skeleton lines={4} />
    </div>
  );
}

/** For paths without a page, and for pages of things that are not there or may not be seen. */
export function NotFound({ what = 'page' }: { what?: string }) {
  return (
    <Page title="Not found" width="narrow">
      <EmptyState
        icon="search"
        title={`There is no such ${what}`}
        action={<ButtonLink href="/">To the overview</ButtonLink>}
      >
        It may have been deleted, or you may not see it in this team.
      </EmptyState>
    </Page>
  );
}
