/** What a page shows between a change and its answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient, fetchExchange, gql } from '@urql/core';
import { cache } from '../../../web/api/cache.ts';
import { eventually } from '../../support/eventually.ts';

const list = gql`
  query Members {
    members {
      userId
      role {
        id
        name
      }
    }
    roles {
      id
      name
    }
    backupSchedules {
      id
      cron
      enabled
    }
  }
`;
const setRole = gql`
  mutation SetRole($userId: ID!, $roleId: ID!) {
    updateMember(userId: $userId, roleId: $roleId) {
      userId
      role {
        id
        name
      }
    }
  }
`;
const pause = gql`
  mutation Pause($id: ID!, $enabled: Boolean!) {
    updateBackupSchedule(id: $id, enabled: $enabled) {
      id
      cron
      enabled
    }
  }
`;

interface Shown {
  members: { role: { name: string } }[];
  backupSchedules: { cron: string; enabled: boolean }[];
}

const reader = { __typename: 'Role', id: 'rol_1', name: 'Reader' };
const owner = { __typename: 'Role', id: 'rol_2', name: 'Owner' };
const schedule = { __typename: 'BackupSchedule', id: 'bsc_1', cron: '0 3 * * *', enabled: true };

/** A page that shows the list; its network is what the test answers, one after the other. */
async function open() {
  const answers: ((answer: object) => void)[] = [];
  const client = createClient({
    url: 'http://gangway.test/',
    preferGetMethod: false,
    fetch: () => new Promise((resolve) => answers.push((given) => resolve(Response.json(given)))),
    exchanges: [cache({ mark: () => undefined, reached: () => undefined }), fetchExchange],
  });
  let shown: Shown | undefined;
  client.query<Shown>(list, {}).subscribe(({ data }) => (shown = data));
  const answer = async (given: object): Promise<void> => {
    await eventually('it is asked', () => answers.length > 0);
    answers.shift()?.(given);
  };
  const member = { __typename: 'Member', userId: 'usr_1', role: reader };
  await answer({
    data: { members: [member], roles: [reader, owner], backupSchedules: [schedule] },
  });
  const isShown = (role: string, enabled: boolean) =>
    eventually(`${role} and ${String(enabled)} is shown`, () => {
      const [{ cron, enabled: isOn } = schedule] = shown?.backupSchedules ?? [];
      return shown?.members[0]?.role.name === role && isOn === enabled && cron === schedule.cron;
    });
  await isShown('Reader', true);
  return { client, answer, isShown };
}

describe('a change of one value', () => {
  it('is shown at once, and taken back where it is refused', async () => {
    const { client, answer, isShown } = await open();
    const given = client.mutation(setRole, { userId: 'usr_1', roleId: 'rol_2' }).toPromise();
    await isShown('Owner', true);
    await answer({ errors: [{ message: 'You may not.', extensions: { code: 'FORBIDDEN' } }] });
    assert.equal((await given).error?.graphQLErrors[0]?.message, 'You may not.');
    await isShown('Reader', true);
    const paused = client.mutation(pause, { id: 'bsc_1', enabled: false }).toPromise();
    await isShown('Reader', false);
    await answer({ data: { updateBackupSchedule: { ...schedule, enabled: false } } });
    await paused;
    await isShown('Reader', false);
  });
});
