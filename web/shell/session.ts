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

/** Nothing behind it belongs to the first letter. */
const plainLetter = /^[\x21-\x7e](?=[\x20-\x7e]|$)/;

/** What stands in the badge of a team or a person. */
export function initialOf(name: string): string {
  const text = name.trim();
  const [first = firstLetter(text)] = plainLetter.exec(text) ?? [];
  return first.toUpperCase();
}

/** A segmenter takes longer to make than all else of the first view. */
function firstLetter(text: string): string {
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text);
  return first?.segment ?? '·';
}
