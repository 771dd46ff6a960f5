/** Owns what a team may ask of its people: that they have two-factor, and how long they may go on without. */
import type { Actors } from '../../actors/runtime/actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { MemberRecord, TeamRecord, TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { readUser } from '../callers/account-reads.ts';
import type { SignedIn } from '../callers/principal.ts';
import { reachOfTeam } from './scope.ts';

const dayMs = 24 * 3_600_000;
const graceDaysMax = 90;

/** What is null stays. TWO_FACTOR_REQUIRED for who asks others for what they do not have themselves. */
export function updateTeam(
  { reader, actors }: { reader: Reader; actors: Actors },
  { userId }: Pick<SignedIn, 'userId'>,
  teamId: string,
  change: {
    name: string | null;
    requireTwoFactor: boolean | null;
    twoFactorGraceDays: number | null;
  },
): Promise<TeamRecord> {
  const { name, requireTwoFactor, twoFactorGraceDays: days } = change;
  const asks = requireTwoFactor === true || days !== null;
  if (asks && readUser(reader, userId)?.twoFactorEnabled !== true) {
    // They would be the first to be kept out.
    throw new ServiceError(
      'TWO_FACTOR_REQUIRED',
      'Turn on two-factor for yourself before you ask others for it: at /account/two-factor.',
    );
  }
  if (days !== null && !(days >= 0 && days <= graceDaysMax)) {
    throw new ServiceError('BAD_USER_INPUT', 'twoFactorGraceDays is 0 to 90.');
  }
  const twoFactorGraceMs = days === null ? null : days * dayMs;
  const message = { type: 'team-update', name, requireTwoFactor, twoFactorGraceMs } as const;
  return actors.ask(teamActor.at(teamId), message);
}

/** A member of a team without two-factor, and what acts in the team with that person's rights. */
export interface WithoutTwoFactor {
  member: Readonly<MemberRecord>;
  /** API tokens and grants of OAuth clients, with which deploy hooks are called, too. */
  tokens: Readonly<TokenRecord>[];
}

/** Members whom required two-factor keeps out, or would keep out. */
export function withoutTwoFactor(reader: Reader, teamId: string): WithoutTwoFactor[] {
  const all = { limit: Infinity };
  return reader
    .list(tables.members, 'team', [teamId], all)
    .filter(({ userId }) => readUser(reader, userId)?.twoFactorEnabled !== true)
    .map((member) => ({
      member,
      tokens: reader
        .list(tables.tokens, 'user', [member.userId], all)
        .filter((token) => reachOfTeam(reader, token, teamId) !== 'none'),
    }));
}
