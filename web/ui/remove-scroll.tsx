/**
 * Stands for the package react-remove-scroll, which keeps the page behind a dialog from scrolling by a
 * style element that the policy of the page forbids. Here it may scroll: dialogs keep their place.
 */
import { type ElementType, forwardRef, type ReactNode } from 'react';

interface RemoveScrollProps {
  as?: ElementType;
  children?: ReactNode;
}

const classNames = { fullWidth: '', zeroRight: '' };

export const RemoveScroll = Object.assign(
  forwardRef<HTMLElement, RemoveScrollProps>(({ as: Part = 'div', children }, ref) => (
    <Part ref={ref}>{children}</Part>
  )),
  { classNames },
);
