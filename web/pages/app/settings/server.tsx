/** Owns the server of an app, among its settings. */
import { useMutation } from 'urql';
import { graphql, type ResultOf } from '../../../api/graphql.ts';
import type { ServerChoice } from '../../server/server-field.tsx';
import { MoveState, ServerSection } from '../../server/server-section.tsx';

export const AppServer = graphql(
  `
    fragment AppServer on App {
      id
      name
      serverId
      move {
        ...MoveState
      }
    }
  `,
  [MoveState],
);

const MoveApp = graphql(
  `
    mutation MoveApp($id: ID!, $serverId: ID!) {
      moveApp(id: $id, serverId: $serverId) {
        ...AppServer
      }
    }
  `,
  [AppServer],
);

interface AppServerProps {
  app: ResultOf<typeof AppServer>;
  servers: readonly ResultOf<typeof ServerChoice>[];
}

export function AppServerSection({ app: { id, ...app }, servers }: AppServerProps) {
  const [, mutate] = useMutation(MoveApp);
  const onMove = async (serverId: string): Promise<void> => {
    const { error } = await mutate({ id, serverId });
    if (error) throw error;
  };
  return <ServerSection {...app} servers={servers} onMove={onMove} />;
}
