/** The app on a person's telephone that shows codes, for tests: made from the URI it was shown. */
import { TOTP, URI } from 'otpauth';
import type { Client } from './gangway-client.ts';

export class AuthenticatorApp {
  readonly #totp: TOTP;
  #lastStep = 0;

  constructor(uri: string) {
    const parsed = URI.parse(uri);
    if (!(parsed instanceof TOTP)) throw new Error('a URI of time-based codes is expected');
    this.#totp = parsed;
  }

  get label(): string {
    return this.#totp.label;
  }

  /** The code of a time; now, when none is given. */
  codeAt(timestamp: number = Date.now()): string {
    return this.#totp.generate({ timestamp });
  }

  /**
   * A code that was not asked for here before and is in the service's window now: the earliest of
   * the steps around the present one that is behind the last. There are three at once; then it waits.
   */
  async fresh(): Promise<string> {
    for (;;) {
      const now = this.#totp.counter();
      const step = Math.max(now - 1, this.#lastStep + 1);
      // Not within the last second of a step, so that the window is the same when the code arrives.
      if (step <= now + 1 && this.#totp.remaining() > 1_500) {
        this.#lastStep = step;
        return this.codeAt(step * this.#totp.period * 1_000);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** A code that is wrong now and around now. */
  wrong(): string {
    const near = [-2, -1, 0, 1, 2].map((away) => this.codeAt(Date.now() + away * 30_000));
    for (let code = 0; ; code++) {
      const text = String(code).padStart(6, '0');
      if (!near.includes(text)) return text;
    }
  }
}

export interface Enrolment {
  uri: string;
  recoveryCodes: string[];
}

/** Turns two-factor on for who is signed in. */
export async function enrol(
  client: Client,
  password: string,
): Promise<{ app: AuthenticatorApp; recoveryCodes: string[] }> {
  const { startTwoFactorEnrolment } = await client.must<{ startTwoFactorEnrolment: Enrolment }>(
    `mutation($password: String!) {
      startTwoFactorEnrolment(password: $password) { uri recoveryCodes } }`,
    { password },
  );
  const app = new AuthenticatorApp(startTwoFactorEnrolment.uri);
  await client.must('mutation($code: String!) { confirmTwoFactorEnrolment(code: $code) }', {
    code: await app.fresh(),
  });
  return { app, recoveryCodes: startTwoFactorEnrolment.recoveryCodes };
}

/** Makes the team of `headers` require two-factor at once of a caller who has none in the end. */
export async function lockOut(
  client: Client,
  password: string,
  headers: Record<string, string>,
): Promise<void> {
  const { recoveryCodes } = await enrol(client, password);
  await client.must(
    'mutation { updateTeam(requireTwoFactor: true, twoFactorGraceDays: 0) { id } }',
    {},
    headers,
  );
  await client.must(
    `mutation($password: String!, $code: String!) {
      disableTwoFactor(password: $password, code: $code) }`,
    { password, code: recoveryCodes[0] },
  );
}
