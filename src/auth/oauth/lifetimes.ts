/** Owns how long codes and tokens of the OAuth provider are good for. */

export const codeMs = 60_000;
export const accessTokenMs = 3_600_000;
export const refreshTokenMs = 30 * 24 * accessTokenMs;
/** How long a person may take to sign in and to consent. */
export const consentMs = 600_000;

/** What a refresh token starts with, so that it can be told from an access token. */
export const refreshPrefix = 'gwr_';
