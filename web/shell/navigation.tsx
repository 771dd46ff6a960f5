/** Owns the navigation: beside the page, or on phones in a drawer. */
import { Link, useLocation } from 'wouter';
import { Icon, type IconName, Mark } from '../ui/icon.tsx';
import { routes } from './routes.ts';
import { type Session, useSession } from './session.ts';
import { TeamSwitch } from './team-switch.tsx';
import { UserMenu } from './user-menu.tsx';

export interface NavLink {
  href: string;
  label: string;
  icon: IconName;
  /** Served beside the dashboard, such as the explorer. */
  outside?: boolean;
}

const groups = [
  ['work', null],
  ['team', 'Team'],
  ['instance', 'Instance'],
] as const;

/** Pages of the server, beside the dashboard. */
const outside: readonly NavLink[] = [
  { href: '/api/graphql', label: 'API explorer', icon: 'code', outside: true },
];

export function linksFor(session: Session, group?: (typeof groups)[number][0]): NavLink[] {
  return routes.flatMap(({ path, nav }) => {
    if (nav === undefined || (group !== undefined && nav.group !== group)) return [];
    if (nav.shownTo?.(session) === false) return [];
    return [{ href: path, label: nav.label, icon: nav.icon }];
  });
}

export function allLinks(session: Session): NavLink[] {
  return [...linksFor(session), ...outside];
}

export function Navigation({ onSearch, onLeave }: { onSearch: () => void; onLeave?: () => void }) {
  const session = useSession();
  return (
    <div className="nav">
      <Link href="/" className="nav-brand" onClick={onLeave}>
        <Mark /> Gangway
      </Link>
      <TeamSwitch />
      <button type="button" className="nav-search" onClick={onSearch}>
        <Icon name="search" />
        <span>Search or go to…</span>
        <kbd>{shortcut}</kbd>
      </button>
      <nav className="nav-links" aria-label="Main" onClick={onLeave}>
        {groups.map(([group, title]) => {
          const links = [...linksFor(session, group), ...(group === 'instance' ? outside : [])];
          if (links.length === 0) return null;
          return (
            <div key={group}>
              {title !== null && <p className="nav-group">{title}</p>}
              <ul>
                {links.map((link) => (
                  <li key={link.href}>
                    <NavLinkView {...link} />
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <UserMenu />
    </div>
  );
}

const shortcut = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘K' : 'Ctrl K';

/** Apps and databases have no entry of their own: one comes to them from the overview. */
function isInOverview(path: string): boolean {
  return path === '/' || /^\/(apps|databases)\//.test(path);
}

function NavLinkView({ href, label, icon, outside = false }: NavLink) {
  const [path] = useLocation();
  const isHere = href === '/' ? isInOverview(path) : path === href || path.startsWith(`${href}/`);
  const content = (
    <>
      <Icon name={icon} /> {label}
    </>
  );
  if (outside) {
    return (
      <a className="nav-link" href={href}>
        {content}
      </a>
    );
  }
  return (
    <Link className="nav-link" href={href} aria-current={isHere ? 'page' : undefined}>
      {content}
    </Link>
  );
}
