/** Owns a field that offers values while somebody types, and takes any other one, too. */
import { type ComponentProps, useDeferredValue, useEffect, useId, useState } from 'react';
import { TextField } from './field.tsx';

export interface Suggestion {
  value: string;
  /** Said beside it. */
  label?: string;
}

type SuggestFieldProps = ComponentProps<typeof TextField> & { suggestions: readonly Suggestion[] };

export function SuggestField({ suggestions, ...field }: SuggestFieldProps) {
  const id = useId();
  return (
    <div>
      <TextField {...field} list={id} autoComplete="off" />
      <datalist id={id}>
        {suggestions.map(({ value, label }) => (
          <option key={value} value={value} label={label} />
        ))}
      </datalist>
    </div>
  );
}

const settledMs = 250;

/** The text once nobody has typed for a moment: each question goes to somebody else's server. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settledMs);
    return () => clearTimeout(timer);
  }, [text]);
  return useDeferredValue(settled);
}
