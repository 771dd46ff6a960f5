/** Owns the form fields that several pages ask for. `focus` says which one is typed into first. */
import { html } from './page.ts';
import type { Html } from './page.ts';

export const focused = html`autofocus`;

export function nameField(value: string, focus: boolean): Html {
  return html`<label
    >Your name
    <input
      name="name"
      value="${value}"
      required
      ${focus ? focused : null}
      maxlength="100"
      autocomplete="name"
    />
  </label>`;
}

/** For a password that is being chosen. */
export function newPasswordField(label: string, focus: boolean): Html {
  return html`<label
    >${label}
    <input
      name="password"
      type="password"
      required
      ${focus ? focused : null}
      minlength="10"
      maxlength="128"
      autocomplete="new-password"
    />
    <small>10 characters at least.</small>
  </label>`;
}
