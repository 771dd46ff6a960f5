/** Owns what a certificate authority says, as far as it is used (RFC 8555, section 7.1). */
import { z } from 'zod';
import { CaUnavailable } from './failures.ts';

const url = z.string().max(2048);
const name = z.object({ type: z.string(), value: z.string() });
export const problem = z.object({
  type: z.string().default('about:blank'),
  detail: z.string().default(''),
  subproblems: z.array(z.object({ detail: z.string().default('') })).default([]),
});
export type Problem = z.infer<typeof problem>;

export const directory = z.object({
  newNonce: url,
  newAccount: url,
  newOrder: url,
  revokeCert: url,
});
export type Directory = z.infer<typeof directory>;

export const order = z.object({
  status: z.enum(['pending', 'ready', 'processing', 'valid', 'invalid']),
  authorizations: z.array(url).max(100),
  finalize: url,
  certificate: url.optional(),
  error: problem.optional(),
});
export type Order = z.infer<typeof order>;

/** Its token goes into paths and names, so it is held to the alphabet that it has to have. */
const challenge = z.object({
  type: z.string(),
  url,
  status: z.string(),
  token: z
    .string()
    .regex(/^[\w-]{1,512}$/)
    .optional(),
  error: problem.optional(),
});
export type Challenge = z.infer<typeof challenge>;

export const authorization = z.object({
  status: z.enum(['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked']),
  identifier: name,
  challenges: z.array(challenge).max(20),
});
export type Authorization = z.infer<typeof authorization>;

/** Throws CaUnavailable for what is not of this shape. */
export function read<S extends z.ZodType>(shape: S, body: string): z.infer<S> {
  try {
    return shape.parse(JSON.parse(body));
  } catch (cause) {
    throw new CaUnavailable('Its answer cannot be understood.', { cause });
  }
}
