/** The address of each page of the dashboard, made of its routes, for whoever walks through all of them. */
import type { Shown } from './shown-world.ts';

export interface ShownPage {
  /** Of a picture's file, such as `app-log`. */
  name: string;
  path: string;
  /** As `shell/routes.ts` has it. */
  route: string;
  /** Of an app or a database. */
  isOfThing: boolean;
}

const databaseTabs = ['', 'console', 'metrics', 'backups', 'settings'];

/** Plain data, whose pages are imported only when they are called; the server reads it like this, too. */
const place = new URL('../../web/shell/routes.ts', import.meta.url).href;

/** The paths of its routes, such as `/apps/:id`. */
export async function dashboardRoutes(): Promise<string[]> {
  const { routes } = (await import(place)) as { routes: readonly { path: string }[] };
  return routes.map(({ path }) => path);
}

/** All that can be shown; what names something that `shown` lacks is left out. */
export async function shownPages({ appId, deploymentId, databaseId }: Shown): Promise<ShownPage[]> {
  return (await dashboardRoutes()).flatMap((path) => {
    if (path === '/databases/:id/:tab?') {
      return databaseTabs.map((tab) =>
        pageAt(path, `/databases/${databaseId}/${tab}`.replace(/\/$/, ''), `database ${tab}`),
      );
    }
    const ids: Readonly<Record<string, string>> = {
      ':id': path.startsWith('/apps/') ? appId : databaseId,
      ':deployment': deploymentId,
    };
    const filled = path.replaceAll(/:\w+\??/g, (name) => {
      const id = ids[name];
      if (id === undefined)
        throw new Error(`Cannot show ${path}: say in shown-paths.ts what ${name} is`);
      return id;
    });
    if (/\/\/|\/$/.test(filled) && filled !== '/') return [];
    return [pageAt(path, filled, nameOf(path))];
  });
}

/** `/apps/:id/deployments/:deployment` is `app deployment`. */
function nameOf(path: string): string {
  if (path === '/') return 'overview';
  const words = path
    .slice(1)
    .split('/')
    .filter((word) => word !== ':id');
  if (path.includes(':id')) words[0] = words[0]?.replace(/s$/, '') ?? '';
  if (path.includes(':deployment')) words.splice(1, 1);
  return words.map((word) => word.replace(/^:/, '')).join(' ');
}

function pageAt(route: string, path: string, name: string): ShownPage {
  return {
    name: name.trim().replaceAll(' ', '-'),
    path,
    route,
    isOfThing: /^(app|database)\b/.test(name),
  };
}
