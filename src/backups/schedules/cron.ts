/**
 * Owns when a schedule is due: cron expressions of five fields in a time zone.
 *
 * 1. An hour that a clock change leaves out does not take a backup with it: what is due in it is due at its
 *    end. What is due in an hour that comes twice is due once. Only what is due every so many minutes or hours
 *    goes by the time that passes: a wildcard or a step is in its minutes or hours.
 * 2. Everything is a function of its arguments: nothing here knows the time or waits.
 */
import { createHash } from 'node:crypto';
import { Cron } from 'croner';
import { ServiceError } from '../../lib/errors.ts';

const cronMax = 120;
const timezoneMax = 64;
/** Dates would be taken for expressions; they come once and never again. */
const expression = /^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|\S+( \S+){4})$/i;
const dayMs = 24 * 3_600_000;

export interface CronTimes {
  cron: string;
  timezone: string;
}

/** The schedule as it is stored. Throws BAD_USER_INPUT with a sentence that names the field. */
export function checkedCron(given: CronTimes, nowMs: number): CronTimes {
  const timezone = checkedTimezone(given.timezone.trim());
  const cron = given.cron.trim().replace(/\s+/g, ' ');
  const words = `cron: ${JSON.stringify(cron.slice(0, cronMax))}`;
  if (cron.length > cronMax || !expression.test(cron)) {
    throw bad(`${words} is not five fields, such as "0 3 * * *", nor a name such as "@daily".`);
  }
  const times = { cron, timezone };
  let next: number | null;
  try {
    next = nextDue(times, nowMs);
  } catch (error) {
    throw bad(`${words} cannot be read: ${reasonOf(error)}.`);
  }
  if (next === null) throw bad(`${words} never comes.`);
  return times;
}

/** The first time after this one; null when there is none. */
export function nextDue({ cron, timezone }: CronTimes, afterMs: number): number | null {
  return parsed(cron, timezone).nextRun(new Date(afterMs))?.getTime() ?? null;
}

/**
 * How long after its time a schedule begins, so that those of one minute do not begin together: the same for
 * every time of a schedule, at most `maxMs`, and at most a tenth of the time until it is due again.
 */
export function jitterOf(id: string, times: CronTimes, dueMs: number, maxMs: number): number {
  const again = nextDue(times, dueMs) ?? dueMs + dayMs;
  const share = createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(share * Math.min(maxMs, (again - dueMs) / 10));
}

function parsed(cron: string, timezone: string): Cron {
  const options = { timezone, paused: true, mode: '5-part', fixedTimeRule: 'no-wildcard' } as const;
  return new Cron(cron, options);
}

function checkedTimezone(timezone: string): string {
  const words = `timezone: ${JSON.stringify(timezone.slice(0, timezoneMax))}`;
  try {
    if (timezone.length > timezoneMax || !/^[A-Za-z]/.test(timezone)) throw new RangeError();
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    return timezone;
  } catch {
    // The library's sentence names nothing of ours.
    throw bad(`${words} is not a name of the time zone database, such as "Europe/Berlin".`);
  }
}

/** The library's words, without its own names. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  return text
    .replace(/^Cron\w+: /, '')
    .replace(/\.$/, '')
    .slice(0, 200);
}

function bad(detail: string): ServiceError {
  return new ServiceError('BAD_USER_INPUT', detail);
}
