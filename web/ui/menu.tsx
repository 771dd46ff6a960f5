/** Owns menus that open from a button. What an item may not do is disabled, and says why by its hint. */
import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Icon, type IconName } from './icon.tsx';

interface MenuProps {
  /** A button. */
  trigger: ReactNode;
  align?: 'start' | 'end';
  children: ReactNode;
}

export function Menu({ trigger, align = 'end', children }: MenuProps) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className="menu" align={align} sideOffset={6} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ItemProps {
  icon?: IconName;
  danger?: boolean;
  disabled?: boolean;
  /** A second line, such as why it is disabled. */
  hint?: string;
  /** Shows a tick before the label. */
  chosen?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({
  icon,
  danger = false,
  disabled = false,
  hint,
  chosen,
  onSelect,
  children,
}: ItemProps) {
  return (
    <Radix.Item
      className={danger ? 'menu-item menu-danger' : 'menu-item'}
      disabled={disabled}
      onSelect={onSelect}
    >
      {icon !== undefined && <Icon name={icon} />}
      <span className="menu-text">
        <span className="menu-label">{children}</span>
        {hint !== undefined && <small>{hint}</small>}
      </span>
      {chosen === true && (
        <>
          <Icon name="check" />
          <span className="only-read">chosen</span>
        </>
      )}
    </Radix.Item>
  );
}

/** An item that leads to a page of the dashboard, or with `outside` to another one. */
export function MenuLink({
  href,
  outside = false,
  ...item
}: Omit<ItemProps, 'onSelect'> & { href: string; outside?: boolean }) {
  const [, navigate] = useLocation();
  const go = (): void => {
    if (outside) location.assign(href);
    else navigate(href);
  };
  return <MenuItem {...item} onSelect={go} />;
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <Radix.Label className="menu-heading">{children}</Radix.Label>;
}

export function MenuLine() {
  return <Radix.Separator className="menu-line" />;
}
