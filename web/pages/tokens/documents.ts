/** Owns what the page of tokens asks for. */
import { graphql, type ResultOf } from '../../api/graphql.ts';

export const TokensQuery = graphql(`
  query Tokens {
    apiTokens {
      id
      name
      prefix
      capabilities
      allTeams
      teamIds
      folderIds
      appIds
      databaseIds
      scopeGone
      createdAt
      lastUsedAt
      expiresAt
    }
    folders {
      id
      name
    }
    apps(first: 500) {
      nodes {
        id
        name
      }
    }
    databases {
      id
      name
    }
  }
`);

export const CreateToken = graphql(`
  mutation CreateToken($input: CreateTokenInput!) {
    createToken(input: $input) {
      secret
      token {
        id
        name
      }
    }
  }
`);

export const RevokeToken = graphql(`
  mutation RevokeToken($id: ID!) {
    revokeToken(id: $id)
  }
`);

export type TokensAnswer = ResultOf<typeof TokensQuery>;
export type Token = TokensAnswer['apiTokens'][number];
