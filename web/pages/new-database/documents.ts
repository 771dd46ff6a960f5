/** Owns what the page asks of the API. */
import { graphql } from '../../api/graphql.ts';
import { ServerChoice } from '../server/server-field.tsx';

export const PlacesQuery = graphql(
  `
    query NewDatabasePlaces {
      folders {
        id
        name
        parentId
      }
      servers {
        ...ServerChoice
      }
    }
  `,
  [ServerChoice],
);

export const CreateDatabase = graphql(`
  mutation CreateDatabase($input: CreateDatabaseInput!) {
    createDatabase(input: $input) {
      id
      name
      status
    }
  }
`);
