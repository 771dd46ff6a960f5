/** Owns fields of forms: a label, one control, a hint, and what is wrong with its value. */
import {
  forwardRef,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { Icon } from './icon.tsx';

interface Told {
  label: string;
  hint?: ReactNode;
  error?: string | null | undefined;
  /** The label is said, but not shown. */
  quiet?: boolean;
}

interface FieldProps extends Told {
  /** Gets the attributes that tie the control to its label, hint and error. */
  children: (control: ControlProps) => ReactNode;
}

export interface ControlProps {
  id: string;
  className: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

export function Field({ label, hint, error, quiet = false, children }: FieldProps) {
  const id = useId();
  const isWrong = error != null && error !== '';
  const described = [hint != null && `${id}-hint`, isWrong && `${id}-error`].filter(Boolean);
  return (
    <div className="field">
      <label htmlFor={id} className={quiet ? 'only-read' : 'field-label'}>
        {label}
      </label>
      {children({
        id,
        className: 'control',
        'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
        'aria-invalid': isWrong ? true : undefined,
      })}
      {isWrong && (
        <p id={`${id}-error`} className="field-error">
          {error}
        </p>
      )}
      {hint != null && (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}

type TextFieldProps = Told & Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'className'>;

export const TextField = forwardRef<HTMLInputElement, TextFieldProps>(function TextField(
  { label, hint, error, quiet, ...input },
  ref,
) {
  return (
    <Field {...told({ label, hint, error, quiet })}>
      {(control) => <input {...input} {...control} ref={ref} />}
    </Field>
  );
});

type TextAreaProps = Told & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'id' | 'className'>;

export function TextArea({ label, hint, error, quiet, ...input }: TextAreaProps) {
  return (
    <Field {...told({ label, hint, error, quiet })}>
      {(control) => <textarea rows={4} {...input} {...control} />}
    </Field>
  );
}

type SelectFieldProps = Told &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id' | 'className'> & {
    options: readonly { value: string; label: string; disabled?: boolean }[];
  };

export function SelectField({ label, hint, error, quiet, options, ...select }: SelectFieldProps) {
  return (
    <Field {...told({ label, hint, error, quiet })}>
      {(control) => (
        <select {...select} {...control}>
          {options.map((option) => (
            <option key={option.value} value={option.value} disabled={option.disabled}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function told({ label, hint, error, quiet }: Partial<Told> & { label: string }): Told {
  return { label, error, ...(hint != null && { hint }), ...(quiet !== undefined && { quiet }) };
}

interface CheckProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'className'> {
  label: ReactNode;
  hint?: ReactNode;
  /** A switch takes effect at once; a box is one value of a form. */
  look?: 'box' | 'switch';
}

export function Check({ label, hint, look = 'box', ...input }: CheckProps) {
  const id = useId();
  return (
    <div className="check">
      <input
        {...input}
        id={id}
        type="checkbox"
        role={look === 'switch' ? 'switch' : undefined}
        className={`check-${look}`}
        aria-describedby={hint != null ? `${id}-hint` : undefined}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint != null && (
          <p id={`${id}-hint`} className="field-hint">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

type SearchFieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'type' | 'className'> & {
  label: string;
};

export const SearchField = forwardRef<HTMLInputElement, SearchFieldProps>(function SearchField(
  { label, ...input },
  ref,
) {
  return (
    <div className="search-field">
      <Icon name="search" />
      <input
        {...input}
        ref={ref}
        type="search"
        className="control"
        aria-label={label}
        placeholder={input.placeholder ?? label}
      />
    </div>
  );
});
