/** Owns short messages about what has just happened. They are said politely, and go by themselves. */
import { useEffect, useSyncExternalStore } from 'react';
import { type ApiError, toApiError } from '../api/errors.ts';
import { IconButton } from './button.tsx';
import { ErrorNote } from './error-note.tsx';
import { Icon } from './icon.tsx';

interface Toast {
  id: number;
  text: string;
  error: ApiError | null;
}

const shownMs = 5_000;
const toastsMax = 4;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next.slice(-toastsMax);
  for (const listener of listeners) listener();
}

/** Says that something was done. */
export function toast(text: string): void {
  set([...toasts, { id: (lastId += 1), text, error: null }]);
}

/** Says that something failed; it stays until it is closed. */
export function toastError(thrown: unknown): void {
  set([...toasts, { id: (lastId += 1), text: '', error: toApiError(thrown) }]);
}

function close(id: number): void {
  set(toasts.filter((one) => one.id !== id));
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((one) => (
        <ToastView key={one.id} toast={one} />
      ))}
    </div>
  );
}

function ToastView({ toast: { id, text, error } }: { toast: Toast }) {
  useEffect(() => {
    if (error !== null) return undefined;
    const timer = setTimeout(() => close(id), shownMs);
    return () => clearTimeout(timer);
  }, [id, error]);
  return (
    <div className="toast">
      {error === null ? (
        <>
          <Icon name="check" />
          <p>{text}</p>
        </>
      ) : (
        <ErrorNote error={error} />
      )}
      <IconButton icon="x" label="Close the message" size="small" onClick={() => close(id)} />
    </div>
  );
}
