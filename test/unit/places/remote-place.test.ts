import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ServiceError } from '../../../src/lib/errors.ts';
import { remotePlace } from '../../../src/places/remote-place.ts';
import { dropIncoming } from '../../../src/places/served-place.ts';
import { placeCalls, placeStreams, streamMark } from '../../../src/protocol/agent-place.ts';
import { joinedLink } from '../../support/agent-link.ts';
import { joinedPlace, otherServerId } from '../../support/joined-place.ts';
import { eventually } from '../../support/eventually.ts';
import { scriptedTools } from '../../support/machine.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { needs } from '../../support/programs.ts';
import { ScriptedDriver } from '../../support/scripted-driver.ts';

const never = new AbortController().signal;
const app = { id: 'app_1', uid: null };
const database = { id: 'db_1', uid: null };

const unreachable = { code: 'AGENT_UNREACHABLE' };
const refused = { code: 'BAD_REQUEST' };

describe('a place on another server', () => {
  it('tells of its machine, once for each time that its agent connects', async (t) => {
    const { place, link, appsRoot, machines } = await joinedPlace(t, {
      buildEnv: { HTTPS_PROXY: 'http://p' },
    });
    const machine = await place.machine();
    const { buildEnv, toolchain, uids, tools } = machine;
    assert.deepEqual(
      [buildEnv, uids, tools.path],
      [{ HTTPS_PROXY: 'http://p' }, null, scriptedTools.path],
    );
    assert.equal(toolchain.nodeVersion, '22.1.0');
    assert.equal(machine.app(app).release('dpl_1'), join(appsRoot, 'app_1', 'releases', 'dpl_1'));
    await place.machine();
    assert.equal(machines(), 1);
    link.cut();
    link.restore();
    await place.machine();
    assert.equal(machines(), 2);
    assert.deepEqual(await tools.ownPostgres(), { bin: '/pg/bin', version: '18.4' });
    assert.equal(await tools.find(['psql']), null);
  });

  it('gets an archive over the link, and shows what came of it', async (t) => {
    const { place, archive, incoming, appsRoot } = await joinedPlace(t);
    const files = (await place.machine()).app(app);
    const large = 'x'.repeat(3 * 2 ** 20);
    const source = archive({ 'package.json': '{}', 'site/index.html': 'hi', large });
    const { bytes } = await files.unpack('dpl_1', source, { signal: never });
    assert.equal(bytes, large.length + 4);
    const release = files.source('dpl_1');
    assert.equal(await release.hasFile('site', 'index.html'), true);
    assert.equal(await release.hasFile('site'), false);
    assert.equal(await release.hasFolder('site'), true);
    assert.equal(await release.hasFolder(), true);
    assert.equal(await release.text('package.json'), '{}');
    assert.equal(await release.text('no'), null);
    assert.equal(await release.text('large'), null);
    assert.deepEqual(readdirSync(incoming), []);
    await files.unpack('dpl_2', source, { signal: never });
    assert.equal(await files.emptyRelease('dpl_3'), files.release('dpl_3'));
    await files.keepReleases(new Set(['dpl_2']));
    assert.deepEqual(readdirSync(join(appsRoot, 'app_1', 'releases')), ['dpl_2']);
    await files.removeRelease('dpl_2');
    await files.remove();
    await files.remove();
    assert.deepEqual(readdirSync(appsRoot), []);
  });

  it('waits for no file whose bytes do not come', async (t) => {
    const { link: honest } = await joinedPlace(t);
    for (const begun of [[], [streamMark.there, 1, 2]]) {
      const link = joinedLink(otherServerId, {
        calls: { [placeCalls.machine]: () => honest.call(placeCalls.machine, null) },
        streams: {
          [placeStreams.text]: (_head, stream) => void stream.write(Uint8Array.from(begun)),
        },
      });
      const clock = new ManualClock();
      const { machine } = remotePlace({ link, driver: new ScriptedDriver(), clock });
      let code: unknown;
      const text = (await machine()).app(app).source('dpl_1').text('Procfile');
      text.catch((error: unknown) => (code = (error as ServiceError).code));
      await settle();
      await clock.advance(20_000);
      assert.equal(code, unreachable.code);
    }
  });

  it('says what is wrong with an archive, and keeps nothing of it', async (t) => {
    const { place, incoming, folder } = await joinedPlace(t);
    const path = join(folder, 'broken.tgz');
    writeFileSync(path, Buffer.alloc(2 ** 20, 7));
    const files = (await place.machine()).app(app);
    const broken = { path, format: 'tar.gz', keepsSoleFolder: false } as const;
    await assert.rejects(files.unpack('dpl_1', broken, { signal: never }), {
      code: 'ARCHIVE_TYPE_MISMATCH',
    });
    assert.deepEqual(readdirSync(incoming), []);
    assert.equal(await files.source('dpl_1').hasFolder(), false);
  });

  it('makes, writes and removes the folders of a database', async (t) => {
    const { place } = await joinedPlace(t);
    const files = (await place.machine()).database(database);
    await files.makeAnew();
    assert.equal(readFileSync(await files.write('pg_hba.conf', 'rules'), 'utf8'), 'rules');
    await files.writeData('redis.conf', 'settings');
    assert.equal(readFileSync(join(files.data, 'redis.conf'), 'utf8'), 'settings');
    await files.ensure();
    await files.lend(null);
    await files.handOver();
    assert.ok(existsSync(files.run));
    await files.remove();
    assert.ok(!existsSync(files.root));
  });

  it('gives files the uids of its own', { skip: needs('root') }, async (t) => {
    const range = { first: 200_000, last: 299_999 };
    const { place, archive } = await joinedPlace(t, {
      ...{ uids: { app: range, database: range }, namedUid: 65_534 },
    });
    const files = (await place.machine()).app({ ...app, uid: 200_007 });
    await files.unpack('dpl_1', archive({ 'index.html': 'hi' }), { signal: never });
    assert.equal((await stat(join(files.release('dpl_1'), 'index.html'))).uid, 200_007);
    const foreign = (await place.machine()).app({ ...app, uid: 0 });
    await assert.rejects(foreign.ensure(), refused);
    const data = (await place.machine()).database({ ...database, uid: 300_001 });
    await assert.rejects(data.lend(0), refused);
  });

  it('connects to where workloads listen, and says why it cannot', async (t) => {
    const { place, appsRoot } = await joinedPlace(t);
    const server = createServer((socket) => socket.pipe(socket));
    t.after(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const at = { workload: 'dpl_1-1', host: '127.0.0.1' };
    const late = new AbortController();
    const connection = await place.connect({ ...at, port }, late.signal);
    late.abort();
    connection.write('hello');
    assert.equal(String((await once(connection, 'data'))[0]), 'hello');
    connection.destroy();
    const path = join(appsRoot, 'db_1', 'run', 's');
    await assert.rejects(place.connect({ workload: 'db_1-1', path }, never), { code: 'ENOENT' });
    await assert.rejects(place.connect({ ...at, port: 1 }, never), { code: 'ECONNREFUSED' });
    await assert.rejects(place.connect({ ...at, port }, late.signal), { name: 'AbortError' });
    const stale = place.connect({ ...at, workload: 'gone-1', port }, never);
    await assert.rejects(stale, { code: 'ECONNREFUSED' });
  });
});

describe('what is asked of an agent', () => {
  it('reaches nothing that is of no app and no database', async (t) => {
    const { link, appsRoot, folder } = await joinedPlace(t);
    mkdirSync(join(appsRoot, 'app_1', 'releases', 'dpl_1'), { recursive: true });
    writeFileSync(join(folder, 'secret'), 'secret');
    symlinkSync(folder, join(appsRoot, 'app_1', 'releases', 'dpl_1', 'out'));
    const owners = ['..', 'app_1/../..', 'APP_1', 'db_1', '', 'app_1\0', 7, null];
    for (const id of owners) {
      const owner = { id, uid: null };
      await assert.rejects(link.call(placeCalls.app, { owner, op: 'remove' }), refused);
    }
    for (const release of ['..', '.', 'dpl_1/..', 'releases', 7]) {
      await assert.rejects(link.call(placeCalls.app, { owner: app, op: 'drop', release }), refused);
    }
    for (const name of ['..', '../x', 'a/b', '.x', '']) {
      const write = { owner: database, op: 'write', name, text: 'x' };
      await assert.rejects(link.call(placeCalls.database, write), refused);
    }
    for (const op of ['chmod', 7, '__proto__']) {
      await assert.rejects(link.call(placeCalls.app, { owner: app, op }), refused);
    }
    for (const path of [
      ['out', 'secret'],
      ['..', '..', '..', '..', 'secret'],
      ['../../../../secret'],
    ]) {
      const look = { owner: app, release: 'dpl_1', kind: 'file', path };
      assert.equal(await link.call(placeCalls.source, look), false, path.join('/'));
    }
    assert.deepEqual(readdirSync(folder).sort(), ['apps', 'secret']);
  });

  it('runs no program but for its version, and is connected to nothing but workloads', async (t) => {
    const { link, appsRoot } = await joinedPlace(t);
    const asks = [
      { op: 'ask', program: 'sh', args: ['--version'] },
      { op: 'ask', program: '/usr/bin/../bin/sh', args: ['--version'] },
      { op: 'ask', program: '/bin/sh', args: ['-c', 'exit 1'] },
      { op: 'find', names: ['../sh'], folders: [] },
      { op: 'find', names: ['sh'], folders: ['bin'] },
    ];
    for (const ask of asks) await assert.rejects(link.call(placeCalls.tools, ask), refused);
    const workload = 'dpl_1-1';
    const places = [
      { workload, host: '192.0.2.1', port: 80 },
      { workload, host: '169.254.169.254', port: 80 },
      { workload, host: 'localhost', port: 80 },
      { workload, host: '127.0.0.1', port: 70_000 },
      { workload, path: '/run/docker.sock' },
      { workload, path: join(appsRoot, 'db_1', 'run', '..', '..', 's') },
      { workload, path: join(appsRoot, 'app_1', 'run', 's') },
      { workload: '../x', host: '127.0.0.1', port: 80 },
    ];
    for (const to of places) {
      await assert.rejects(link.stream(placeStreams.connect, to, 'control'), refused);
    }
  });

  it('takes no more and no less of an archive than it was told', async (t) => {
    const { link, incoming, archive } = await joinedPlace(t);
    const { path } = archive({ 'index.html': 'hi' });
    const bytes = readFileSync(path);
    const head = { owner: app, release: 'dpl_1', format: 'tar.gz', keepsSoleFolder: false };
    for (const sizeBytes of [bytes.length - 1, bytes.length + 1]) {
      const asked = { ...head, sizeBytes, isOurs: false };
      const stream = await link.stream(placeStreams.unpack, asked, 'bulk');
      stream.on('error', () => undefined);
      stream.end(bytes);
      const [answer] = (await once(stream, 'data')) as [Buffer];
      assert.match(answer.toString(), /BAD_REQUEST/);
      await eventually('nothing is left', () => readdirSync(incoming).length === 0);
    }
  });

  it('is forgotten with a link that is lost, and by the next agent', async (t) => {
    const { place, link, incoming, folder } = await joinedPlace(t);
    const path = join(folder, 'endless.tgz');
    writeFileSync(path, Buffer.alloc(40 * 2 ** 20));
    const files = (await place.machine()).app(app);
    const archive = { path, format: 'tar', keepsSoleFolder: false } as const;
    const canceled = new AbortController();
    const asked = files.unpack('dpl_1', archive, { signal: canceled.signal });
    canceled.abort(new Error('canceled'));
    await assert.rejects(asked, /canceled/);
    const cut = files.unpack('dpl_1', archive, { signal: never });
    await eventually('it arrives', () => existsSync(incoming) && readdirSync(incoming).length > 0);
    link.cut();
    await assert.rejects(cut, unreachable);
    await eventually('nothing is left', () => readdirSync(incoming).length === 0);
    await assert.rejects(files.ensure(), unreachable);
    await assert.rejects(place.machine(), unreachable);
    link.restore();
    await place.machine();
    writeFileSync(join(incoming, 'left'), '');
    await dropIncoming(incoming);
    assert.ok(!existsSync(incoming));
  });
});
