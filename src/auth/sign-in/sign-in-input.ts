/** Owns the checks of what people type when they sign in or set up. */
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { ServiceError } from '../../lib/errors.ts';
import { checkedName } from '../../lib/names.ts';

export const passwordMin = 10;
export const passwordMax = 128;

export interface SetupInput {
  email: string;
  password: string;
  name: string;
  teamName: string;
}

/** The form in which an address is compared: two that differ in case are one account. */
export function emailKey(given: string): string {
  return given.trim().toLowerCase();
}

/** BAD_USER_INPUT with a sentence about the first thing that is wrong. */
export function checkedSetup(given: SetupInput): SetupInput {
  const name = checkedPersonName(given.name);
  const password = checkedPassword(given.password);
  const teamName = checkedName(given.teamName, 'A team name');
  return { email: checkedEmail(given.email), password, name, teamName };
}

const address = z.email().max(254);

/** An address as it is compared; BAD_USER_INPUT. */
export function checkedEmail(given: string): string {
  const email = emailKey(given);
  if (address.safeParse(email).success) return email;
  throw new ServiceError('BAD_USER_INPUT', 'This is not an e-mail address.');
}

/** A person's name as stored; BAD_USER_INPUT. */
export function checkedPersonName(given: string): string {
  return checkedName(given, 'A name');
}

/** A password somebody chose; BAD_USER_INPUT when it is too short or too long. */
export function checkedPassword(given: string): string {
  if (isTooLong(given) || charactersOf(given) < passwordMin) {
    throw new ServiceError('BAD_USER_INPUT', 'A password has 10 to 128 characters.');
  }
  return given;
}

/**
 * A password as it is compared. One that is too long cannot be right; something unguessable takes its
 * place, so that its refusal takes as long as any other.
 */
export function comparablePassword(given: string): string {
  return isTooLong(given) ? randomBytes(32).toString('hex') : given;
}

function isTooLong(password: string): boolean {
  // A character has at most two units. The first check avoids counting a megabyte.
  return password.length > passwordMax * 2 || charactersOf(password) > passwordMax;
}

function charactersOf(text: string): number {
  return Array.from(text).length;
}
