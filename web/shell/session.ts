/** Owns who uses this tab, the team it acts in, and what the person may do there. */
import { createContext, useContext } from 'react';
import { type Enum, graphql, type ResultOf } from '../api/graphql.ts';

export const SessionQuery = graphql(`
  query Session {
    position
    me {
      id
      name
      email
      isInstanceAdmin
      twoFactorEnabled
    }
    viewerTeam {
      id
      name
      slug
      capabilities
    }
    myTeams {
      id
      name
      slug
    }
  }
`);

type Answer = ResultOf<typeof SessionQuery>;
export type Capability = Enum<'Capability'>;

export interface Session {
  readonly me: NonNullable<Answer['me']>;
  /** Null for whoever is in no team. */
  readonly team: Answer['viewerTeam'];
  readonly teams: Answer['myTeams'];
  /** Read before anything that the pages show. */
  readonly position: number;
  /** Whether the person holds it in the whole team. Grants on folders come on top, and the API decides. */
  can: (capability: Capability) => boolean;
  /** Acts in another team from now on, in this tab and by default in new ones. */
  switchTeam: (teamId: string) => Promise<void>;
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('There is no session outside of the shell.');
  return session;
}

const letters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** What stands in the badge of a team or a person. */
export function initialOf(name: string): string {
  const [first] = letters.segment(name.trim());
  return first?.segment.toUpperCase() ?? '·';
}
