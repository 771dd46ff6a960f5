/** Owns what a sign-in needs of its request, and what it gives back. */
import type { User } from '../callers/account-reads.ts';

/** Where a request comes from. It decides limits, the need for a setup code, and the cookie's flags. */
export interface Origin {
  address: string;
  fromLoopback: boolean;
  secure: boolean;
  userAgent: string;
}

/**
 * Called for a sign-in with a wrong password or code, with the address that was typed or the person's
 * id.
 */
export type RefusedSignIn = (who: { email: string } | { userId: string }, origin: Origin) => void;

export interface SignIn {
  user: User;
  requiresTwoFactor: boolean;
  /** Values for `Set-Cookie`. */
  cookies: string[];
}
