import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { tarEnd, tarHeaders } from '../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../src/backups/tar/tar-tree.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { remotePlace } from '../../../src/places/remote-place.ts';
import { inRoom, LocalTrees } from '../../../src/places/trees.ts';
import { placeCalls, placeStreams } from '../../../src/protocol/agent-place.ts';
import { encodeFrame } from '../../../src/protocol/message-frames.ts';
import { joinedLink } from '../../support/agent-link.ts';
import { collected, pieces } from '../../support/database-server.ts';
import { joinedPlace, otherServerId } from '../../support/joined-place.ts';
import { ScriptedDriver } from '../../support/scripted-driver.ts';

const never = new AbortController().signal;
const app = { id: 'app_1', uid: null };
const database = { id: 'db_1', uid: null };
const refused = { code: 'BAD_REQUEST' };

describe('trees of a remote place', () => {
  /** An app with data that is easily lost on the way. */
  async function furnished(t: TestContext) {
    const made = await joinedPlace(t);
    const files = (await made.place.machine()).app(app);
    await files.ensure();
    const data = join(made.appsRoot, app.id, 'data');
    mkdirSync(join(data, 'empty'), { mode: 0o750 });
    writeFileSync(join(data, 'line\nbreak'), 'odd', { mode: 0o600 });
    symlinkSync('/etc/passwd', join(data, 'outside'));
    writeFileSync(join(data, 'large'), Buffer.alloc(700_000, 3));
    execFileSync('mkfifo', [join(data, 'pipe')]);
    return { ...made, files, data };
  }

  it('come as they were, without pipes, and take the place of what was there', async (t) => {
    const { files, place, appsRoot } = await furnished(t);
    const other = (await place.machine()).app({ id: 'app_2', uid: null });
    await other.ensure();
    const to = join(appsRoot, 'app_2', 'data');
    writeFileSync(join(to, 'earlier'), '');
    await other.trees.fill('data', files.trees.pack('data', never), never);
    assert.deepEqual(readdirSync(to).sort(), ['empty', 'large', 'line\nbreak', 'outside']);
    assert.equal(readlinkSync(join(to, 'outside')), '/etc/passwd');
    const modes = ['line\nbreak', 'empty'].map((name) => statSync(join(to, name)).mode & 0o777);
    assert.deepEqual(modes, [0o600, 0o750]);
    assert.equal(readFileSync(join(to, 'large')).length, 700_000);
    assert.deepEqual(readdirSync(join(appsRoot, 'app_2')).sort(), ['data', 'home', 'releases', 'tmp']); // prettier-ignore
  });

  it('leave out of an archive what no archive may hold, and count it', async (t) => {
    const { files } = await furnished(t);
    const packed = files.trees.archive('data', 'volumes/data/', never);
    let next = await packed.next();
    let bytes = 0;
    for (; next.done !== true; next = await packed.next()) bytes += next.value.length;
    assert.ok(bytes > 700_000);
    assert.deepEqual(next.value, { link: 1, special: 1 });
  });

  it('stay as they were where a tar is cut off, or is none', async (t) => {
    const { files, data, appsRoot } = await furnished(t);
    const before = readdirSync(data);
    async function* cut() {
      for await (const bytes of files.trees.pack('data', never)) yield bytes.subarray(0, 5_000);
    }
    async function* none() {
      yield await Promise.resolve(Buffer.alloc(4096, 'x'));
    }
    for (const tar of [cut(), none()]) {
      await assert.rejects(files.trees.fill('data', tar, never), { code: 'ARTIFACT_CORRUPT' });
      assert.deepEqual(readdirSync(data), before);
      assert.ok(!existsSync(join(appsRoot, app.id, 'data-incoming')));
    }
  });

  it('leave some of the disk free', async (t) => {
    const { files } = await furnished(t);
    const packed = (roomBytes: number) => inRoom(files.trees.pack('data', never), roomBytes);
    await assert.rejects(collected(packed(600_000)), { code: 'STORAGE_FULL' });
    assert.ok((await collected(packed(800_000))).length > 700_000);
  });

  it('are those of one owner, by a name that is one', async (t) => {
    const { link } = await furnished(t);
    const heads = [
      { kind: 'app', owner: app, tree: '../app_2' },
      { kind: 'app', owner: app, tree: 'home' },
      { kind: 'app', owner: { id: '../db_1', uid: null }, tree: 'data' },
      { kind: 'database', owner: database, tree: 'dpl_1' },
      { kind: 'team', owner: app, tree: 'data' },
      { kind: 'app', owner: app, tree: 'data', prefix: '../' },
    ];
    for (const head of heads) {
      for (const kind of ['pack', 'fill'] as const) {
        if (kind === 'fill' && 'prefix' in head) continue;
        await assert.rejects(link.stream(placeStreams[kind], head, 'bulk'), {
          code: 'BAD_REQUEST',
        });
      }
    }
  });

  it('of an agent that lies are refused', async (t) => {
    for (const said of [{ missed: { link: -1 } }, { missed: 'all' }, 'text', { error: 'no' }]) {
      const { link } = await joinedPlace(t);
      const lying = joinedLink(otherServerId, {
        calls: { [placeCalls.machine]: () => link.call(placeCalls.machine, null) },
        streams: {
          [placeStreams.pack]: (_head, stream) => void stream.end(encodeFrame(said)),
        },
      });
      const { machine } = remotePlace({ link: lying, driver: new ScriptedDriver() });
      const packed = (await machine()).app(app).trees.pack('data', never);
      await assert.rejects(async () => {
        for await (const bytes of packed) assert.ok(bytes);
      }, ServiceError);
    }
  });
});

describe('other data beside that of a remote place', () => {
  async function furnished(t: TestContext) {
    const made = await joinedPlace(t);
    const files = (await made.place.machine()).app(app);
    await files.ensure();
    const root = join(made.appsRoot, app.id);
    writeFileSync(join(root, 'data', 'earlier'), '');
    return { ...made, root, trees: files.trees };
  }
  /** A tar of these files. */
  const tarOf = (...names: string[]): AsyncIterable<Uint8Array> =>
    pieces(Buffer.concat([...names.flatMap((name) => [...textEntry(name, 'text')]), tarEnd]));
  const folders = ['data', 'home', 'releases', 'tmp'];

  it('takes the place of the live one, and leaves it again or stays', async (t) => {
    const { root, trees } = await furnished(t);
    const live = (): string[] => readdirSync(join(root, 'data'));
    await trees.fillBeside(tarOf('data/inner/new'), never);
    assert.deepEqual([live(), await trees.hasPrevious()], [['earlier'], false]);
    await trees.exchange();
    assert.deepEqual([live(), await trees.hasPrevious()], [['inner'], true]);
    await trees.settle('previous');
    assert.deepEqual([live(), await trees.hasPrevious()], [['earlier'], false]);
    assert.deepEqual(readdirSync(root).sort(), folders);
    await trees.fillBeside(tarOf('data/new'), never);
    await trees.exchange();
    await trees.settle('live');
    assert.deepEqual([live(), await trees.hasPrevious()], [['new'], false]);
    assert.deepEqual(readdirSync(root).sort(), folders);
    assert.equal(statSync(join(root, 'data')).mode & 0o777, 0o700);
  });

  it('may be empty, or not there at all', async (t) => {
    const { root, trees } = await furnished(t);
    await trees.fillBeside(tarOf(), never);
    assert.deepEqual(readdirSync(root).sort(), folders);
    const folder = { name: Buffer.from('data/'), type: 'folder', size: 0, mode: 0o700 } as const;
    const head = tarHeaders({ ...folder, mtimeMs: 0, target: Buffer.alloc(0) });
    await trees.fillBeside(pieces(Buffer.concat([head, tarEnd])), never);
    await trees.exchange();
    assert.deepEqual(readdirSync(join(root, 'data')), []);
  });

  it('is none where a tar holds anything else, or is cut off', async (t) => {
    const { root, trees } = await furnished(t);
    const cut = pieces(
      Buffer.concat([...textEntry('data/new', 'x'.repeat(5_000))]).subarray(0, 3_000),
    );
    for (const [tar, code] of [
      [tarOf('data/new', 'home/.profile'), 'ARTIFACT_UNFIT'],
      [tarOf('data'), 'ARTIFACT_UNFIT'],
      [tarOf('data/../../app_2/new'), 'ARCHIVE_UNSAFE_ENTRY'],
      [cut, 'ARCHIVE_CORRUPT'],
    ] as const) {
      await assert.rejects(trees.fillBeside(tar, never), { code });
      assert.deepEqual(readdirSync(root).sort(), folders);
    }
  });

  it('never costs the live one, wherever an exchange was cut off', async (t) => {
    const { root, trees } = await furnished(t);
    const cutOff = async (): Promise<void> => {
      await trees.fillBeside(tarOf('data/new'), never);
      renameSync(join(root, 'data'), join(root, 'data-outgoing'));
    };
    for (const goOn of [
      () => trees.settle('previous'),
      () => trees.settle('live'),
      () => trees.fillBeside(tarOf('data/newer'), never),
    ]) {
      await cutOff();
      await goOn();
      assert.deepEqual(readdirSync(join(root, 'data')), ['earlier']);
    }
  });

  it('is changed by one step after the other', async (t) => {
    const { root } = await furnished(t);
    const ensure = () => Promise.resolve();
    const trees = new LocalTrees({ uid: null, ensure, rootOf: () => root });
    const steps = [
      trees.fillBeside(tarOf('data/new'), never),
      trees.exchange(),
      trees.settle('previous'),
      trees.fillBeside(tarOf('data/newer'), never),
      trees.exchange(),
      trees.settle('live'),
    ];
    await Promise.all(steps);
    assert.deepEqual(readdirSync(join(root, 'data')), ['newer']);
    assert.deepEqual(readdirSync(root).sort(), folders);
  });

  it('is changed by steps that there are', async (t) => {
    const { link } = await furnished(t);
    for (const step of [{ op: 'drop' }, { op: 'settle' }, { op: 'settle', data: 'both' }, {}]) {
      const asked = link.call(placeCalls.exchange, { kind: 'app', owner: app, ...step });
      await assert.rejects(asked, refused);
    }
    const foreign = { kind: 'team', owner: app, op: 'exchange' };
    await assert.rejects(link.call(placeCalls.exchange, foreign), refused);
  });
});
