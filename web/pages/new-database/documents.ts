/** Owns what the page asks of the API. */
import { graphql } from '../../api/graphql.ts';

export const FoldersQuery = graphql(`
  query NewDatabaseFolders {
    folders {
      id
      name
      parentId
    }
  }
`);

export const CreateDatabase = graphql(`
  mutation CreateDatabase($input: CreateDatabaseInput!) {
    createDatabase(input: $input) {
      id
      name
      status
    }
  }
`);
