/** Owns copying to the clipboard, also where the page has no secure origin. */
import { useEffect, useState } from 'react';
import { IconButton } from './button.tsx';

interface CopyButtonProps {
  /** A function where it is much, or changes often. */
  text: string | (() => string);
  label?: string;
}

export function CopyButton({ text, label = 'Copy' }: CopyButtonProps) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <>
      <IconButton
        icon={done ? 'check' : 'copy'}
        label={label}
        size="small"
        onClick={() => void copyText(typeof text === 'string' ? text : text()).then(setDone)}
      />
      <span role="status" className="only-read">
        {done ? 'Copied' : ''}
      </span>
    </>
  );
}

/** False where the browser does not let us. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain http there is only the old way, from a field that is selected.
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'only-read';
    document.body.append(field);
    field.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- There is no other way.
    const done = document.execCommand('copy');
    field.remove();
    return done;
  }
}
