/**
 * Owns which page is at which path, and which of them the navigation shows.
 *
 * Plain data: the build and the server read the paths from here, too. The first path that fits is taken. In
 * a path stand `:name`, `:name?` at its end, and `*` for all that follows.
 */
import type { ComponentType } from 'react';
import type { IconName } from '../ui/icon.tsx';
import type { Session } from './session.ts';

export interface PageProps {
  /** The values of the path's names. */
  params: Readonly<Record<string, string | undefined>>;
}

export interface PageModule {
  /** What is at the path. */
  readonly Page: ComponentType<PageProps>;
}

export interface NavEntry {
  readonly group: 'work' | 'team' | 'instance';
  readonly label: string;
  readonly icon: IconName;
  /** Absent: for everybody. */
  readonly shownTo?: (session: Session) => boolean;
}

export interface Route {
  readonly path: string;
  readonly load: () => Promise<PageModule>;
  /** Present: the navigation and the palette lead there. Only for paths without names. */
  readonly nav?: NavEntry;
}

const log = () => import('../pages/log/page.tsx');

export const routes: readonly Route[] = [
  {
    path: '/',
    load: () => import('../pages/overview/page.tsx'),
    nav: { group: 'work', label: 'Overview', icon: 'home' },
  },
  { path: '/apps/new', load: () => import('../pages/new-app/page.tsx') },
  { path: '/apps/:id', load: () => import('../pages/app/overview/page.tsx') },
  { path: '/apps/:id/deployments', load: () => import('../pages/app/deployments/page.tsx') },
  {
    path: '/apps/:id/deployments/:deployment',
    load: () => import('../pages/app/deployment/page.tsx'),
  },
  { path: '/apps/:id/metrics', load: () => import('../pages/app/metrics/page.tsx') },
  { path: '/apps/:id/console', load: () => import('../pages/app/console/page.tsx') },
  { path: '/apps/:id/git', load: () => import('../pages/app/git/page.tsx') },
  { path: '/apps/:id/environment', load: () => import('../pages/app/environment/page.tsx') },
  { path: '/apps/:id/domains', load: () => import('../pages/app/domains/page.tsx') },
  { path: '/apps/:id/settings', load: () => import('../pages/app/settings/page.tsx') },
  { path: '/apps/:id/log', load: log },
  { path: '/databases/:id/log', load: log },
  { path: '/databases/new', load: () => import('../pages/new-database/page.tsx') },
  { path: '/databases/:id/:tab?', load: () => import('../pages/database/page.tsx') },
  {
    path: '/backups',
    load: () => import('../pages/backups/page.tsx'),
    nav: { group: 'work', label: 'Backups', icon: 'backup' },
  },
  {
    path: '/team',
    load: () => import('../pages/team/page.tsx'),
    nav: { group: 'team', label: 'People and roles', icon: 'team' },
  },
  {
    path: '/git',
    load: () => import('../pages/git/page.tsx'),
    nav: {
      ...{ group: 'team', label: 'Git', icon: 'git' },
      shownTo: ({ can }) => can('manage_git'),
    },
  },
  {
    path: '/mcp',
    load: () => import('../pages/mcp/page.tsx'),
    nav: { group: 'team', label: 'AI clients', icon: 'sparkle' },
  },
  {
    path: '/tokens',
    load: () => import('../pages/tokens/page.tsx'),
    nav: {
      group: 'team',
      label: 'Tokens',
      icon: 'key',
      shownTo: ({ can }) => can('manage_tokens'),
    },
  },
  {
    path: '/activity',
    load: () => import('../pages/activity/page.tsx'),
    nav: {
      ...{ group: 'team', label: 'Activity', icon: 'activity' },
      shownTo: ({ can }) => can('view_activity'),
    },
  },
  {
    path: '/trash',
    load: () => import('../pages/trash/page.tsx'),
    nav: { group: 'team', label: 'Trash', icon: 'trash' },
  },
  {
    path: '/instance',
    load: () => import('../pages/instance/page.tsx'),
    nav: {
      ...{ group: 'instance', label: 'Settings and health', icon: 'server' },
      shownTo: ({ me }) => me.isInstanceAdmin,
    },
  },
  { path: '/account', load: () => import('../pages/account/page.tsx') },
];
