/** Owns tabs: those that are pages of their own, with an address each, and those within a page. */
import { Tabs as Radix } from 'radix-ui';
import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';

export interface TabLink {
  href: string;
  label: string;
  count?: number;
}

/** Tabs by address: the current one is the link whose address this is, or begins with. */
export function TabLinks({ label, tabs }: { label: string; tabs: readonly TabLink[] }) {
  const [path] = useLocation();
  const current = tabs
    .map(({ href }) => href)
    .filter((href) => path === href || path.startsWith(`${href}/`))
    .sort((a, b) => b.length - a.length)[0];
  const row = useRef<HTMLElement>(null);
  useInSight(row, current);
  return (
    <nav ref={row} className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link
          key={tab.href}
          href={tab.href}
          className="tab"
          aria-current={current === tab.href ? 'page' : undefined}
        >
          {tab.label}
          {tab.count !== undefined && <span className="tab-count">{tab.count}</span>}
        </Link>
      ))}
    </nav>
  );
}

/** Scrolls a row that is wider than the screen, and nothing else, until its current tab is in sight. */
function useInSight(row: RefObject<HTMLElement | null>, current: string | undefined): void {
  useEffect(() => {
    const { current: shown } = row;
    if (shown === null) return undefined;
    const resized = new ResizeObserver(() => {
      const tab = shown.querySelector<HTMLElement>('[aria-current]');
      if (tab) shown.scrollLeft = tab.offsetLeft - (shown.clientWidth - tab.offsetWidth) / 2;
    });
    resized.observe(shown);
    return () => resized.disconnect();
  }, [row, current]);
}

export interface Tab {
  value: string;
  label: string;
  content: ReactNode;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  value?: string;
  onChange?: (value: string) => void;
}

export function Tabs({ label, tabs, value, onChange }: TabsProps) {
  const controlled = value === undefined ? { defaultValue: tabs[0]?.value ?? '' } : { value };
  return (
    <Radix.Root {...controlled} {...(onChange && { onValueChange: onChange })}>
      <Radix.List className="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <Radix.Trigger key={tab.value} value={tab.value} className="tab">
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="tab-content">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
