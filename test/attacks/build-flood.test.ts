/** One team asks for builds that never end, on a server that builds one at a time: another team waits for one. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Client, archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';

const patienceMs = 60_000;
const endless = archiveOf({
  'package.json': '{"name":"a","scripts":{"build":"node build.js","start":"node index.js"}}',
  'build.js': 'setInterval(() => undefined, 1000);',
  'index.js': '',
});
const served = archiveOf({
  Procfile: 'web: node index.js',
  'index.js': "require('node:http').createServer((_, a) => a.end()).listen(process.env.PORT);",
});

interface Seen {
  status: string;
  queuePosition: number | null;
}

async function see(client: Client, ids: readonly string[]): Promise<Seen[]> {
  const query = 'query($id: ID!) { deployment(id: $id) { status queuePosition } }';
  const answers = ids.map((id) => client.must<{ deployment: Seen }>(query, { id }));
  return (await Promise.all(answers)).map(({ deployment }) => deployment);
}

async function asked(client: Client, name: string, archive: Buffer): Promise<string> {
  const { id } = await client.createApp(name);
  await client.mustUpload(id, archive);
  return await client.redeploy(id);
}

it('builds of a greedy team delay another team by one of them', async (t) => {
  const gangway = await Gangway.open({ env: { GANGWAY_BUILD_CONCURRENCY: '1' } });
  t.after(() => gangway.end());
  const greedy = gangway.client;
  const quiet = await gangway.signIn();
  const { createTeam } = await quiet.must<{ createTeam: { id: string } }>(
    'mutation { createTeam(name: "Quiet") { id } }',
  );
  await quiet.must('mutation($id: ID!) { switchTeam(teamId: $id) { id } }', { id: createTeam.id });
  const cancel = (id: string): Promise<unknown> =>
    greedy.must('mutation($id: ID!) { cancelDeployment(id: $id) }', { id });

  const flood: string[] = [];
  for (const name of ['One', 'Two', 'Three', 'Four']) {
    flood.push(await asked(greedy, name, endless));
  }
  const [first = '', second = '', ...rest] = flood;
  await until('it builds', patienceMs, async () => {
    return (await see(greedy, [first]))[0]?.status === 'building';
  });
  const own = await asked(quiet, 'Own', served);
  assert.deepEqual(await see(quiet, [own]), [{ status: 'queued', queuePosition: 1 }]);
  const positions = (await see(greedy, flood)).map(({ queuePosition }) => queuePosition);
  assert.deepEqual(positions, [null, 2, 3, 4]);

  await cancel(first);
  assert.equal(await quiet.finished(own), 'ready');
  await until('the next one builds', patienceMs, async () => {
    return (await see(greedy, [second]))[0]?.status === 'building';
  });
  assert.deepEqual(
    (await see(greedy, rest)).map(({ queuePosition }) => queuePosition),
    [1, 2],
  );
  for (const id of [...rest, second]) await cancel(id);
});
