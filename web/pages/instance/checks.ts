/** Owns what counts as well: each check of the instance, with a word and a sentence for people. */
import { bytesInWords } from '../../ui/bytes.ts';
import type { Instance, Status } from './documents.ts';

export interface Check {
  readonly name: string;
  readonly tone: 'good' | 'bad' | 'warn' | 'off';
  readonly word: string;
  readonly detail: string;
  /** Where something can be done about it, and its name. */
  readonly link?: readonly [href: string, label: string];
}

const diskScarce = 0.1;
const dayMs = 86_400_000;
const backups = ['/backups', 'To the backups'] as const;
const certificateEndsMs = 7 * dayMs;

/** Of what `/api/health` says, see `health.tsx`. */
export function checksOf(status: Status, instance: Instance, nowMs: number): Check[] {
  return [
    answerCheck('Apps and databases', status.placeAnswers, {
      well: 'What runs them answers.',
      ill: 'What runs them does not answer. They may run on, but nothing can be deployed, started or stopped.',
    }),
    answerCheck('The edge', status.edgeAnswers, {
      well: "It takes visitors' connections.",
      ill: "It takes no connections: visitors reach no app. Look for “edge” in Gangway's log and in runner/runner.log.",
    }),
    diskCheck(status),
    ...certificateChecks(instance, nowMs),
    ...backupCheck(instance),
  ];
}

function answerCheck(
  name: string,
  answers: boolean | null,
  { well, ill }: { well: string; ill: string },
): Check {
  if (answers === null) {
    return { name, tone: 'off', word: 'not needed yet', detail: 'It starts with the first app.' };
  }
  return answers
    ? { name, tone: 'good', word: 'answers', detail: well }
    : { name, tone: 'bad', word: 'does not answer', detail: ill };
}

function diskCheck({ machine: { diskBytes, diskFreeBytes } }: Status): Check {
  const free = `${bytesInWords(diskFreeBytes)} of ${bytesInWords(diskBytes)} are free`;
  const name = 'The disk';
  if (diskFreeBytes >= diskBytes * diskScarce) {
    return { name, tone: 'good', word: 'has room', detail: `${free}.` };
  }
  return {
    ...{ name, tone: 'warn', word: 'is getting full', link: ['#settings', 'To the settings'] },
    detail: `${free}: deployments and backups fail once it is full. Keep logs for fewer days, or delete old backups.`,
  };
}

function certificateChecks({ instanceSettings }: Instance, nowMs: number): Check[] {
  const certificates = instanceSettings.certificates ?? [];
  if (certificates.length === 0) return [];
  const name = 'Certificates';
  const ill = certificates.filter(
    ({ error, certificate }) =>
      error !== null ||
      certificate === null ||
      Date.parse(certificate.notAfter) - nowMs < certificateEndsMs,
  );
  const hosts = ill.map(({ host }) => host).join(', ');
  if (ill.length === 0) return [{ name, tone: 'good', word: 'valid', detail: 'All are in place.' }];
  const isMissing = ill.some(({ certificate }) => certificate === null);
  return [
    {
      ...{ name, tone: isMissing ? 'bad' : 'warn', link: ['#certificates', 'To the certificates'] },
      word: isMissing ? 'missing' : 'not renewed',
      detail: `Look at ${hosts} below.`,
    },
  ];
}

/** Nothing for who is in no team, and sees none. */
function backupCheck({ backupSchedules }: Instance): Check[] {
  if (backupSchedules === undefined) return [];
  const name = 'Backup of the instance';
  const isPlanned = backupSchedules.some(({ instance, enabled }) => instance && enabled);
  return [
    isPlanned
      ? {
          name,
          tone: 'good',
          word: 'scheduled',
          detail: 'Its runs are among the backups.',
          link: backups,
        }
      : {
          ...{ name, tone: 'warn', word: 'not scheduled', link: backups },
          detail: 'People, rights, variables and domains are lost with this machine.',
        },
  ];
}
