/** Owns what the page of an app's git asks for. */
import { graphql, type ResultOf } from '../../../api/graphql.ts';

const PreviewFields = graphql(`
  fragment PreviewFields on Preview {
    id
    branch
    status
    url
    commitSha
    updatedAt
  }
`);

export const PreviewsQuery = graphql(
  `
    query AppGitPage($id: ID!) {
      app(id: $id) {
        id
        previewBranches
        git {
          branch
        }
      }
      previews(appId: $id) {
        ...PreviewFields
      }
    }
  `,
  [PreviewFields],
);

export const DeliveriesQuery = graphql(`
  query AppDeliveries($id: ID!) {
    gitDeliveries(appId: $id, first: 100) {
      id
      event
      branch
      commitSha
      outcome
      receivedAt
      deploymentId
    }
  }
`);

export type Preview = ResultOf<typeof PreviewsQuery>['previews'][number];
export type Delivery = ResultOf<typeof DeliveriesQuery>['gitDeliveries'][number];

export const ApprovePreview = graphql(
  `
    mutation ApprovePreview($id: ID!) {
      approvePreview(id: $id) {
        ...PreviewFields
      }
    }
  `,
  [PreviewFields],
);

export const ClosePreview = graphql(
  `
    mutation ClosePreview($id: ID!) {
      closePreview(id: $id) {
        ...PreviewFields
      }
    }
  `,
  [PreviewFields],
);

export const ReplayDelivery = graphql(`
  mutation ReplayGitDelivery($id: ID!) {
    replayGitDelivery(id: $id) {
      id
      outcome
      deploymentId
    }
  }
`);
