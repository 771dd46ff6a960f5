/**
 * Owns the frame around every page: navigation, search, notices and toasts. It knows who is signed in before
 * it shows a page.
 */
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { useClient, useMutation, useQuery } from 'urql';
import { useLocation } from 'wouter';
import { toApiError } from '../api/errors.ts';
import { graphql } from '../api/graphql.ts';
import { actingTeam } from '../api/team.ts';
import { TeamChanges } from '../api/team-changes.ts';
import { IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorNote } from '../ui/error-note.tsx';
import { Mark } from '../ui/icon.tsx';
import { Toasts } from '../ui/toast.tsx';
import { setConnection, useConnection } from './connection.ts';
import { Navigation } from './navigation.tsx';
import { Notices } from './notices.tsx';
import { loaded, Pages } from './pages.tsx';
import { type Session, SessionContext, SessionQuery, useSession } from './session.ts';

const Palette = lazy(async () => ({
  default: (await loaded(() => import('./palette.tsx'))).Palette,
}));

const SwitchTeam = graphql(`
  mutation SwitchTeam($teamId: ID!) {
    switchTeam(teamId: $teamId) {
      id
    }
  }
`);

/** `onTeam` makes everything anew for another team. */
export function Shell({ onTeam }: { onTeam: () => void }) {
  const [{ data, error }, ask] = useQuery({ query: SessionQuery });
  const [, switchTo] = useMutation(SwitchTeam);
  const last = useRef<Session | null>(null);
  const now = useMemo((): Session | null => {
    if (data?.me == null) return null;
    const held = new Set<string>(data.viewerTeam?.capabilities);
    return {
      me: data.me,
      team: data.viewerTeam,
      teams: data.myTeams,
      position: data.position,
      can: (capability) => held.has(capability),
      switchTeam: async (teamId) => {
        const answer = await switchTo({ teamId });
        if (answer.error) throw toApiError(answer.error);
        actingTeam.set(teamId);
        onTeam();
      },
    };
  }, [data, switchTo, onTeam]);
  if (now !== null) last.current = now;
  // Whoever was here stays on the page, with what was typed, until he has signed in again.
  const session = now ?? last.current;
  const isNobody = data?.me === null;
  const code = error && toApiError(error).code;
  useEffect(() => {
    // The tab remembers a team that the person has left.
    if (code === 'FORBIDDEN' && actingTeam.get() !== null) {
      actingTeam.set(null);
      onTeam();
    } else if (session?.team) actingTeam.set(session.team.id);
    if (isNobody && session === null) leaveFor('/login');
    else setConnection({ signedOut: isNobody });
    if (code === 'TWO_FACTOR_REQUIRED') leaveFor('/account/two-factor');
  }, [code, isNobody, session, onTeam]);
  if (session !== null) {
    return (
      <SessionContext.Provider value={session}>
        <Frame />
      </SessionContext.Provider>
    );
  }
  if (error === undefined) return <div className="splash" role="status" aria-label="Loading" />;
  return (
    <main className="page page-narrow">
      <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />
    </main>
  );
}

function leaveFor(path: string): void {
  const here = `${location.pathname}${location.search}`;
  location.assign(`${path}?next=${encodeURIComponent(here)}`);
}

const againMs = 10_000;

/** Follows the team for as long as somebody is signed in. */
function useTeamChanges(): void {
  const client = useClient();
  const { signedOut } = useConnection();
  const since = useRef(useSession().position).current;
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (signedOut) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const following = client.subscription(TeamChanges, { since }).subscribe(({ error }) => {
      if (error === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(() => setRound((before) => before + 1), againMs);
    });
    return () => {
      clearTimeout(timer);
      following.unsubscribe();
    };
  }, [client, since, signedOut, round]);
}

function Frame() {
  useTeamChanges();
  const [isOpen, setOpen] = useState(false);
  const [isSearching, setSearching] = useState(false);
  const wasSearching = useRef(false);
  if (isSearching) wasSearching.current = true;
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setSearching((now) => !now);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const search = (): void => {
    setOpen(false);
    setSearching(true);
  };
  return (
    <div className="frame">
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the page
      </a>
      <div className="sidebar">
        <Navigation onSearch={search} />
      </div>
      <header className="topbar">
        <IconButton icon="menu" label="Navigation" onClick={() => setOpen(true)} />
        <span className="topbar-brand">
          <Mark /> Gangway
        </span>
        <IconButton icon="search" label="Search" onClick={search} />
      </header>
      <Dialog open={isOpen} onOpenChange={setOpen} title="Navigation" look="side">
        <Navigation onSearch={search} onLeave={() => setOpen(false)} />
      </Dialog>
      <main id="main" ref={main} tabIndex={-1}>
        <Notices />
        <Pages />
      </main>
      {wasSearching.current && (
        <Suspense>
          <Palette open={isSearching} onOpenChange={setSearching} />
        </Suspense>
      )}
      <Toasts />
    </div>
  );
}
