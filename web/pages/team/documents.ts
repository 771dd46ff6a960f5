/** Owns what the pages of the team ask for. */
import { graphql, type ResultOf } from '../../api/graphql.ts';

export const RoleFields = graphql(`
  fragment RoleFields on Role {
    id
    name
    builtIn
    capabilities
  }
`);

export const TeamQuery = graphql(
  `
    query TeamPage($invites: Boolean!, $policy: Boolean!, $registries: Boolean!) {
      members {
        userId
        name
        email
        role {
          ...RoleFields
        }
      }
      roles {
        ...RoleFields
      }
      invites @include(if: $invites) {
        id
        email
        expiresAt
        role {
          id
          name
        }
      }
      viewerTeam {
        id
        name
        requireTwoFactor
        twoFactorGraceUntil
        withoutTwoFactor @include(if: $policy) {
          member {
            userId
            name
          }
          tokens {
            id
            name
          }
        }
      }
      mcpSettings {
        enabled
      }
      registries @include(if: $registries) {
        id
        name
        host
        username
      }
      folders {
        id
        name
      }
    }
  `,
  [RoleFields],
);

export type TeamAnswer = ResultOf<typeof TeamQuery>;
export type Role = TeamAnswer['roles'][number];
export type Member = TeamAnswer['members'][number];
