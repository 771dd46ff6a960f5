/**
 * Owns how an App says who it is:
 * https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
 */
import { createPrivateKey } from 'node:crypto';

/** For clocks that differ. */
const behindS = 60;
/** GitHub takes ten minutes at most. */
const lifeS = 9 * 60;

/** A JWT by RS256. `privateKey`: PEM, as GitHub gave it. */
export async function appToken(appId: number, privateKey: string, nowMs: number): Promise<string> {
  // Few instances have an App.
  const { SignJWT } = await import('jose/jwt/sign');
  const nowS = Math.floor(nowMs / 1000);
  return new SignJWT({ iss: String(appId), iat: nowS - behindS, exp: nowS + lifeS })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .sign(createPrivateKey(privateKey));
}
