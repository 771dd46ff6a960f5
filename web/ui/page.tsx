/**
 * Owns the frame of a page: its title in the document, its heading, which gets the focus when somebody
 * navigates here, and sections.
 */
import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { useArrival } from '../shell/arrival.ts';
import { Icon, type IconName } from './icon.tsx';

interface PageProps {
  title: string;
  /** Before the title, such as the app that a page is of. */
  crumbs?: readonly { href: string; label: string }[];
  /** Of a page with tabs: the one that is shown, which the title of the document begins with. */
  tab?: string;
  /** Behind the title, such as a state. */
  beside?: ReactNode;
  actions?: ReactNode;
  /** `narrow` for forms. */
  width?: 'normal' | 'narrow' | 'full';
  children: ReactNode;
}

export function Page({
  title,
  crumbs = [],
  tab,
  beside,
  actions,
  width = 'normal',
  children,
}: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useArrival(heading);
  // All lies below the overview: its name would tell no tabs apart.
  const above = crumbs.flatMap(({ href, label }) => (href === '/' ? [] : [label])).reverse();
  const documentTitle = [tab, title, ...above, 'Gangway'].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = documentTitle;
  }, [documentTitle]);
  return (
    <div className={`page page-${width}`}>
      {crumbs.length > 0 && (
        <nav className="crumbs" aria-label="Above this page">
          {crumbs.map(({ href, label }, at) => (
            <span key={href}>
              {at > 0 && <Icon name="chevron" size={12} />}
              <Link href={href}>{label}</Link>
            </span>
          ))}
        </nav>
      )}
      <header className="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {beside}
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface SectionProps {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  /** `card` has a frame; `bare` is for what has one itself, such as a table. */
  look?: 'card' | 'bare' | 'danger';
  children: ReactNode;
}

export function Section({ title, description, actions, look = 'card', children }: SectionProps) {
  return (
    <section className={`section section-${look}`} aria-label={title}>
      <header className="section-head">
        <div>
          <h2>{title}</h2>
          {description != null && <p className="section-description">{description}</p>}
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </header>
      <div className="section-body">{children}</div>
    </section>
  );
}

interface EmptyStateProps {
  icon: IconName;
  title: string;
  /** One sentence: what this is for, or what to do first. */
  children?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <p className="empty-title">{title}</p>
      {children != null && <p className="empty-text">{children}</p>}
      {action !== undefined && <div className="page-actions">{action}</div>}
    </div>
  );
}

/** Grey lines in the place of what is being loaded, which appear only when that takes a while. */
export function Skeleton({ lines = 3, look = 'text' }: { lines?: number; look?: 'text' | 'rows' }) {
  return (
    <div className={`skeleton skeleton-${look}`} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

/** Facts about one thing: terms with their values. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
