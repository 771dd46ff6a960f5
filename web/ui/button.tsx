/** Owns buttons, and links that look like them. `busy` keeps the width, so that nothing jumps. */
import { type ButtonHTMLAttributes, forwardRef, type ReactNode } from 'react';
import { Link } from 'wouter';
import { Icon, type IconName } from './icon.tsx';

export type ButtonLook = 'primary' | 'plain' | 'ghost' | 'danger';

interface Look {
  look?: ButtonLook;
  size?: 'small' | 'normal';
  icon?: IconName;
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, Look {
  busy?: boolean;
}

export const Button = forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { look, size, icon, busy = false, disabled, children, className, type = 'button', ...rest },
  ref,
) {
  return (
    <button
      {...rest}
      ref={ref}
      type={type}
      className={classOf({ look, size }, className)}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
});

/** A button that is an icon alone; `label` is said and shown on hover. */
export const IconButton = forwardRef<
  HTMLButtonElement,
  ButtonProps & { icon: IconName; label: string }
>(function IconButton({ label, icon, look = 'ghost', className = '', ...rest }, ref) {
  return (
    <Button
      {...rest}
      ref={ref}
      look={look}
      icon={icon}
      aria-label={label}
      title={label}
      className={`button-icon ${className}`}
    />
  );
});

interface LinkProps extends Look {
  href: string;
  children: ReactNode;
  /** Whether it leads out of the dashboard, such as to an app. */
  outside?: boolean;
}

export function ButtonLink({ href, children, outside = false, icon, ...look }: LinkProps) {
  const content = (
    <>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </>
  );
  if (!outside) {
    return (
      <Link href={href} className={classOf(look)}>
        {content}
      </Link>
    );
  }
  return (
    <a href={href} className={classOf(look)} target="_blank" rel="noreferrer">
      {content}
    </a>
  );
}

function classOf(
  { look = 'plain', size = 'normal' }: { [Key in 'look' | 'size']?: Look[Key] | undefined },
  more = '',
): string {
  return `button button-${look} button-${size} ${more}`.trim();
}
