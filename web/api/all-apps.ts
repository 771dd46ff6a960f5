/** Owns reading all apps of the team, page after page; each stays true as the cache changes. */
import type { TypedDocumentNode } from '@urql/core';
import { useEffect, useMemo, useState } from 'react';
import { type CombinedError, useClient } from 'urql';

interface AppsAnswer<App> {
  apps: { nodes: App[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
}

interface AllApps<App> {
  /** Undefined before the first answer. */
  apps: readonly App[] | undefined;
  error: CombinedError | undefined;
  again: () => void;
}

/** `document` asks for the apps behind `$after`; always the same one. */
export function useAllApps<App>(
  document: TypedDocumentNode<AppsAnswer<App>, { after?: string | null }>,
): AllApps<App> {
  const client = useClient();
  const [pages, setPages] = useState<readonly (readonly App[])[]>([]);
  const [error, setError] = useState<CombinedError>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const subscriptions: { unsubscribe(): void }[] = [];
    const open = (at: number, after: string | null): void => {
      const source = client.query(document, { after });
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
  }, [client, document, round]);
  const apps = useMemo(() => (pages.length === 0 ? undefined : pages.flat()), [pages]);
  return { apps, error, again: () => setRound((before) => before + 1) };
}
