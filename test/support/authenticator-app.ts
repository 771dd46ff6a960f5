/** The app on a person's telephone that shows codes, for tests: made from the URI it was shown. */
import { TOTP, URI } from 'otpauth';
import type { Client } from './gangway-client.ts';

export class AuthenticatorApp {
  readonly #totp: TOTP;
  readonly #now: () => number;
  #lastStep = 0;

  /** `now`: the time of the service, where that is not the system's. */
  constructor(uri: string, now = Date.now) {
    this.#now = now;
    const parsed = URI.parse(uri);
    if (!(parsed instanceof TOTP)) throw new Error('a URI of time-based codes is expected');
    this.#totp = parsed;
  }

  get label(): string {
    return this.#totp.label;
  }

  /** The code of a time; now, when none is given. */
  codeAt(timestamp: number = this.#now()): string {
    return this.#totp.generate({ timestamp });
  }

  /**
   * A code that was not asked for here before and stays in the service's window for seconds: the earliest
   * of the steps around the present one that is behind the last. There are three at once; then it waits.
   */
  async fresh(): Promise<string> {
    for (;;) {
      const timestamp = this.#now();
      const now = this.#totp.counter({ timestamp });
      // The step before is out of the window with the end of this one.
      const earliest = this.#totp.remaining({ timestamp }) > 8_000 ? now - 1 : now;
      const step = Math.max(earliest, this.#lastStep + 1);
      if (step <= now + 1) {
        this.#lastStep = step;
        return this.codeAt(step * this.#totp.period * 1_000);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** A code that is wrong now and around now. */
  wrong(): string {
    const near = [-2, -1, 0, 1, 2].map((away) => this.codeAt(this.#now() + away * 30_000));
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
  now = Date.now,
): Promise<{ app: AuthenticatorApp; recoveryCodes: string[] }> {
  const { startTwoFactorEnrolment } = await client.must<{ startTwoFactorEnrolment: Enrolment }>(
    `mutation($password: String!) {
      startTwoFactorEnrolment(password: $password) { uri recoveryCodes } }`,
    { password },
  );
  const app = new AuthenticatorApp(startTwoFactorEnrolment.uri, now);
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
  now = Date.now,
): Promise<void> {
  const { recoveryCodes } = await enrol(client, password, now);
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
