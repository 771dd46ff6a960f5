/** Owns schedules in words, as far as they are simple, and the ones that are offered. */

export const presets = [
  { cron: '0 3 * * *', label: 'Every night at 3:00' },
  { cron: '0 * * * *', label: 'Every hour' },
  { cron: '0 */6 * * *', label: 'Every 6 hours' },
  { cron: '0 3 * * 0', label: 'Every Sunday at 3:00' },
  { cron: '0 3 1 * *', label: 'On the first of each month at 3:00' },
] as const;

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Such as "Every night at 3:00"; what is not simple is told as it stands. */
export function cronWords(cron: string): string {
  const preset = presets.find((one) => one.cron === cron);
  if (preset !== undefined) return preset.label;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = cron.trim().split(/\s+/);
  const isTime = /^\d{1,2}$/.test(minute) && /^\d{1,2}$/.test(hour);
  if (!isTime || day !== '*' || month !== '*') return cron;
  const time = `${hour}:${minute.padStart(2, '0')}`;
  if (weekday === '*') return `Every day at ${time}`;
  const named = days[Number(weekday) % 7];
  return /^[0-7]$/.test(weekday) && named !== undefined ? `Every ${named} at ${time}` : cron;
}
