/** The person's own account: appearance is in the menu, all else is here. */
import { useQuery } from 'urql';
import { graphql, type ResultOf } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Facts, Page as Frame, Section, Skeleton } from '../../ui/page.tsx';
import { Grants } from './grants.tsx';
import { Password } from './password.tsx';
import { Sessions } from './sessions.tsx';
import { TwoFactor } from './two-factor.tsx';

const AccountQuery = graphql(`
  query Account {
    me {
      id
      twoFactorEnabled
    }
    mySessions {
      id
      address
      userAgent
      current
      createdAt
      lastSeenAt
    }
    myGrants {
      id
      clientName
      clientHost
      capabilities
      teamId
      createdAt
      lastUsedAt
    }
  }
`);

export type AccountAnswer = ResultOf<typeof AccountQuery>;

export function Page() {
  const { me } = useSession();
  const [{ data, error }, ask] = useQuery({ query: AccountQuery });
  const again = (): void => ask({ requestPolicy: 'network-only' });
  return (
    <Frame title="Account" width="narrow">
      <Section title="You">
        <Facts
          facts={[
            ['Name', <bdi key="name">{me.name}</bdi>],
            ['Email', me.email],
          ]}
        />
      </Section>
      {error && <ErrorNote error={error} retry={again} />}
      {!data && !error && <Skeleton look="rows" lines={4} />}
      {data && (
        <>
          <TwoFactor isOn={data.me?.twoFactorEnabled === true} onChange={again} />
          <Password />
          <Sessions sessions={data.mySessions} />
          <Grants grants={data.myGrants} />
        </>
      )}
    </Frame>
  );
}
