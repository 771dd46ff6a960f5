/**
 * Owns where the focus goes when somebody comes to another page: to its heading, so that screen readers say
 * it and the keyboard goes on from there. The first page of a tab takes nothing.
 */
import { type RefObject, useEffect } from 'react';
import { useLocation } from 'wouter';

let lastPath: string | null = null;

export function useArrival(heading: RefObject<HTMLElement | null>): void {
  const [path] = useLocation();
  useEffect(() => {
    const isFirst = lastPath === null;
    if (lastPath === path) return;
    lastPath = path;
    if (isFirst) return;
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [path, heading]);
}
