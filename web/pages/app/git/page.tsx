/** What git brings to an app: its branches that are shown as previews, and what came of each push. */
import { useQuery } from 'urql';
import type { PageProps } from '../../../shell/routes.ts';
import { useSession } from '../../../shell/session.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { EmptyState, Section, Skeleton } from '../../../ui/page.tsx';
import { type App, AppHeadQuery, mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';
import { Deliveries } from './deliveries.tsx';
import { DeliveriesQuery, PreviewsQuery } from './documents.ts';
import { Previews } from './previews.tsx';

export function Page({ params: { id = '' } }: PageProps) {
  const { can } = useSession();
  const [head] = useQuery({ query: AppHeadQuery, variables: { id } });
  const [{ data, error }, ask] = useQuery({ query: PreviewsQuery, variables: { id } });
  const known = head.data?.app;
  // Whoever holds it in the whole team need not wait until the app says so.
  const maySee = known == null ? can('view_activity') : mayOn(known, 'view_activity');
  const deliveries = useQuery({ query: DeliveriesQuery, variables: { id }, pause: !maySee });
  const branch = data?.app?.git?.branch ?? null;
  return (
    <AppFrame id={id} title="Git">
      {(app: App) => (
        <>
          {error && (
            <ErrorNote error={error} retry={() => ask({ requestPolicy: 'network-only' })} />
          )}
          {!data && !error && <Skeleton look="rows" lines={4} />}
          {data && (
            <Section
              title="Previews"
              description="Branches at addresses of their own, for as long as somebody pushes to them."
              look="bare"
            >
              <Previews
                app={app}
                previews={data.previews}
                patterns={data.app?.previewBranches ?? []}
              />
            </Section>
          )}
          <Section
            title="Pushes"
            description="What was delivered, and what came of it. Kept for three days at least."
            look="bare"
          >
            {maySee ? (
              <Deliveries app={app} branch={branch} query={deliveries} />
            ) : (
              <EmptyState icon="shield" title="You may not see what was delivered">
                That needs the right to see the activity.
              </EmptyState>
            )}
          </Section>
        </>
      )}
    </AppFrame>
  );
}
