/** Owns reading all apps of the team, page after page; each stays true as the cache changes. */
import { useEffect, useState } from 'react';
import { type CombinedError, useClient } from 'urql';
import type { ResultOf } from '../../api/graphql.ts';
import { OverviewApps } from './things.ts';

type Apps = ResultOf<typeof OverviewApps>['apps']['nodes'];

interface AllApps {
  /** Undefined before the first answer. */
  apps: Apps | undefined;
  error: CombinedError | undefined;
  again: () => void;
}

export function useApps(): AllApps {
  const client = useClient();
  const [pages, setPages] = useState<readonly Apps[]>([]);
  const [error, setError] = useState<CombinedError>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const subscriptions: { unsubscribe(): void }[] = [];
    const open = (at: number, after: string | null): void => {
      const source = client.query(OverviewApps, { after });
      subscriptions.push(
        source.subscribe(({ data, error }) => {
          setError(error);
          if (data === undefined) return;
          const { nodes, pageInfo } = data.apps;
          setPages((before) => [...before.slice(0, at), nodes, ...before.slice(at + 1)]);
          const isLast = subscriptions.length <= at + 1;
          if (pageInfo.hasNextPage && isLast) open(at + 1, pageInfo.endCursor);
        }),
      );
    };
    open(0, null);
    return () => {
      for (const subscription of subscriptions) subscription.unsubscribe();
    };
  }, [client, round]);
  const apps = pages.length === 0 ? undefined : pages.flat();
  return { apps, error, again: () => setRound((before) => before + 1) };
}
