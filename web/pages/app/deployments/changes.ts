/** Owns the documents that change a deployment. */
import { graphql } from '../../../api/graphql.ts';
import { DeploymentState } from '../app-parts.ts';

export const CancelDeployment = graphql(`
  mutation CancelDeployment($id: ID!) {
    cancelDeployment(id: $id)
  }
`);

export const RollbackDeployment = graphql(
  `
    mutation RollbackDeployment($id: ID!) {
      rollbackDeployment(deploymentId: $id) {
        ...DeploymentState
      }
    }
  `,
  [DeploymentState],
);
