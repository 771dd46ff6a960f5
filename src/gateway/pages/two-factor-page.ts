/** Owns what the page shows on which people turn two-factor on: a form, a QR code, recovery codes. */
import type { AskingTeam } from '../../auth/callers/account-reads.ts';
import { focused } from './form.ts';
import { html } from './page.ts';
import type { Html } from './page.ts';

export const twoFactorPath = '/account/two-factor';
export const twoFactorConfirmPath = `${twoFactorPath}/confirm`;

/** The page, and where it leads on to. */
export function twoFactorPageAt(next: string): string {
  return `${twoFactorPath}?next=${encodeURIComponent(next)}`;
}

export interface Enrolment {
  /** `otpauth://totp/…` */
  uri: string;
  recoveryCodes: readonly string[];
}

/** The first step: who asks for it, and the password. */
export function startPage(
  { email, teams, next }: { email: string; teams: readonly AskingTeam[]; next: string },
  problem: Html | null,
): Html {
  return html`<h1>Two-factor</h1>
    ${teams.map(teamNotice)}
    <p>A code from an app on your telephone, asked for after the password when you sign in.</p>
    ${problem}
    <form method="post" action="${twoFactorPath}">
      <input type="hidden" name="next" value="${next}" />
      <input type="hidden" name="email" value="${email}" autocomplete="username" />
      <label
        >Your password
        <input
          name="password"
          type="password"
          required
          ${focused}
          maxlength="128"
          autocomplete="current-password"
        />
      </label>
      <button>Turn on two-factor</button>
    </form>
    <a href="${next}">Not now</a>`;
}

function teamNotice({ name, graceUntilMs }: AskingTeam): Html {
  if (graceUntilMs === null) {
    return html`<p role="alert">
      <b>${name}</b> requires two-factor: until it is on, you and your tokens are kept out of it.
    </p>`;
  }
  return html`<p role="alert">
    <b>${name}</b> requires two-factor. From ${timeText(graceUntilMs)} on, you and your tokens are
    kept out of it without.
  </p>`;
}

/** To the minute, rounded down: nobody is told of more time than there is. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The second step: what is shown once, and the first code. */
export async function enrolPage(
  { uri, recoveryCodes }: Enrolment,
  next: string,
): Promise<(problem: Html | null) => Html> {
  // Loaded when first asked for: most starts never come here.
  const { renderSVG } = await import('uqr');
  const picture = renderSVG(uri, { border: 3 });
  return (problem) =>
    html`<h1>Two-factor</h1>
      <p>Scan this with an authenticator app.</p>
      <img src="data:image/svg+xml,${encodeURIComponent(picture)}" alt="QR code" />
      <p>Or type the key into it: <code>${keyOf(uri)}</code></p>
      <a href="${uri}" class="plain">Open an app on this device</a>
      <p>
        Keep these recovery codes in a safe place: each signs you in once when the app is lost. They
        are not shown again.
      </p>
      <ul>
        ${recoveryCodes.map((code) => html`<li><code>${code}</code></li>`)}
      </ul>
      ${problem}
      <form method="post" action="${twoFactorConfirmPath}">
        <input type="hidden" name="next" value="${next}" />
        <input type="hidden" name="uri" value="${uri}" />
        <input type="hidden" name="recoveryCodes" value="${recoveryCodes.join(' ')}" />
        <label
          >Code
          <input
            name="code"
            required
            ${focused}
            inputmode="numeric"
            maxlength="20"
            autocomplete="one-time-code"
          />
          <small>Six digits, from the app. Two-factor is on with the first.</small>
        </label>
        <button>Confirm</button>
      </form>
      <a href="${twoFactorPageAt(next)}">Start again</a>`;
}

/** The secret of an otpauth URI in groups of four. */
function keyOf(uri: string): string {
  const secret = URL.parse(uri)?.searchParams.get('secret') ?? '';
  return secret.replace(/(.{4})(?=.)/g, '$1 ');
}

export function onPage(next: string): Html {
  return html`<h1>Two-factor is on</h1>
    <p>You are asked for a code after the password when you sign in.</p>
    <a href="${next}">Continue</a>`;
}
