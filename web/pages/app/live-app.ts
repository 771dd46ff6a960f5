/** Owns keeping an app's page true: what changes of the app and of its latest deployment comes by itself. */
import { useSubscription } from 'urql';
import { graphql } from '../../api/graphql.ts';
import { AppHead } from './app-parts.ts';

const AppStatus = graphql(
  `
    subscription AppStatus($id: ID!) {
      appStatus(id: $id) {
        ...AppHead
      }
    }
  `,
  [AppHead],
);

/** The cache knows the app by its id, so that what comes shows wherever the app is shown. */
export function useLiveApp(id: string): void {
  useSubscription({ query: AppStatus, variables: { id } });
}
