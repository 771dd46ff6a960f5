/** The files of volumes through the Docker driver: what it gives of a volume, and what comes of that in another. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { volumesTar } from '../../src/backups/tar/volume-tar.ts';
import { tarEnd, tarHeaders } from '../../src/backups/tar/tar-header.ts';
import { TarReader } from '../../src/backups/tar/tar-reader.ts';
import type { Volumes } from '../../src/drivers/driver.ts';
import { containerSpec, dockerPlace, type DockerPlace } from '../support/docker-place.ts';
import { sh, until } from '../support/driver-specs.ts';
import { needs } from '../support/programs.ts';

const never = new AbortController().signal;
const owner = 'app_owner';

describe('volumes on a Docker daemon', { skip: needs('docker') }, () => {
  let place: DockerPlace;
  let volumes: Volumes;
  let runs = 0;

  before(async () => {
    place = await dockerPlace();
    assert.ok(place.driver.volumes);
    volumes = place.driver.volumes;
  });
  after(async () => {
    await place.driver.removeVolumesOf(owner);
    await place.close();
  });

  /** What a container with this volume says. */
  const inside = async (volume: string, script: string): Promise<string> => {
    const id = `inside-${String(++runs)}`;
    const spec = containerSpec({ id, owner, kind: 'service', command: sh('exec sleep 100000') });
    const container = { ...spec.container, volumes: [{ name: volume, path: '/vol' }] };
    await place.driver.start({ ...spec, stopGraceMs: 100, container } as typeof spec);
    const asked = { command: sh(script), env: {}, timeoutMs: 60_000, maxBytes: 100_000 };
    const { output, exitCode } = await place.driver.exec(id, asked, never);
    assert.equal(exitCode, 0, Buffer.from(output).toString());
    await place.driver.remove(id);
    return Buffer.from(output).toString();
  };
  /** From one volume into another, by way of what an artifact holds. */
  const copied = async (from: string, to: string): Promise<string[]> => {
    const missed: string[] = [];
    const tar = volumesTar({
      read: () => volumes.read(owner, { data: from }, never),
      missed: (path, why) => missed.push(`${why}: ${path}`),
    });
    await volumes.write(owner, { data: to }, belowVolumes(tar), never);
    return missed.sort();
  };
  async function* belowVolumes(tar: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const whole = async function* (): AsyncGenerator<Uint8Array> {
      yield* tar;
      yield tarEnd;
    };
    const reader = new TarReader(whole());
    const cut = (bytes: Buffer): Buffer => bytes.subarray('volumes/'.length);
    for (let item = await reader.next(); item !== null; item = await reader.next()) {
      const type = ({ '0': 'file', '1': 'hardlink', '2': 'link' } as const)[item.flag] ?? 'folder';
      const target = type === 'hardlink' ? cut(item.target) : item.target;
      yield tarHeaders({ ...item, type, name: cut(item.name), target });
      for await (const piece of reader.content()) yield Uint8Array.from(piece);
      yield Buffer.alloc((512 - (item.size % 512)) % 512);
    }
    yield tarEnd;
  }
  const listing = `cd /vol && find . -exec stat -c '%N %a %u:%g %Y %h' {} + | sort && find . -type f -exec md5sum {} + | sort`;

  it('come whole, with owners, modes, times, links and odd names, and tell what they leave out', async () => {
    await inside(
      'odd',
      `cd /vol && chown 123:456 . && chmod 750 . && mkdir -p 'dir/a b' && echo hi > 'dir/a b/c' && chmod 600 'dir/a b/c' &&
       chown 70000:3000000 'dir/a b/c' && ln 'dir/a b/c' dir/twice && ln -s ../dir/twice dir/link && touch -d '2001-02-03 04:05:06' dir &&
       head -c 3000000 /dev/urandom > big && : > empty && mkdir hollow && echo ü > 'ä ü' && printf n > "$(printf 'new\\nline')"`,
    );
    const before = await inside('odd', listing);
    await inside(
      'odd',
      `cd /vol && mkfifo pipe && ln -s /etc/passwd absolute && ln -s ../../out out && ln -s dir/../../x through &&
       echo x > 'back\\slash' && ln 'back\\slash' zz && echo y > "$(printf 'caf\\351')" && touch -d '2001-02-03 04:05:06' dir`,
    );
    const missed = await copied('odd', 'odd-again');
    assert.deepEqual(
      missed.map((one) => one.replace(/caf.*/, 'caf')),
      [
        'link: volumes/data/absolute',
        'link: volumes/data/out',
        'link: volumes/data/through',
        'name: volumes/data/back\\slash',
        'name: volumes/data/caf',
        'name: volumes/data/zz',
        'special: volumes/data/pipe',
      ],
    );
    // The time of the folder itself changed with what is left out.
    const changing = /^'?\.'? 750 123:456 .*\n/m;
    const after = await inside('odd-again', listing);
    assert.match(after, changing);
    assert.equal(after.replace(changing, ''), before.replace(changing, ''));
    assert.deepEqual((await volumes.of(owner)).sort(), ['odd', 'odd-again']);
  });

  it('go on behind a file that shrinks while it is read', async () => {
    await inside(
      'shrinks',
      'cd /vol && mkdir m z && for i in 1 2 3; do head -c 40000000 /dev/zero > m/$i; done; echo end > z/end',
    );
    const missed: string[] = [];
    let readings = 0;
    const tar = volumesTar({
      read: () => {
        readings += 1;
        return volumes.read(owner, { data: 'shrinks' }, never);
      },
      missed: (path, why) => missed.push(`${why}: ${path}`),
    });
    let bytes = 0;
    let isCut = false;
    const chunks: Uint8Array[] = [];
    for await (const chunk of tar) {
      bytes += chunk.length;
      if (bytes > 45_000_000 && !isCut) {
        isCut = true;
        await inside('shrinks', 'cd /vol && : > m/2 && : > m/3 && echo more > n');
      }
      if (chunk.length < 1000) chunks.push(Uint8Array.from(chunk));
    }
    assert.ok(readings >= 2);
    assert.equal(bytes % 512, 0);
    const names = Buffer.concat(chunks)
      .toString('latin1')
      .match(/volumes\/data\/[^\0]*/g);
    assert.deepEqual(names, ['', 'm/', 'm/1', 'm/2', 'm/3', 'n', 'z/', 'z/end'].map((one) => `volumes/data/${one}`)); // prettier-ignore
    assert.deepEqual(missed, []);
  });

  it('are not written by half without a word', async () => {
    const torn = async function* (): AsyncGenerator<Uint8Array> {
      yield tarHeaders({ name: Buffer.from('data/x'), type: 'file', size: 9000, mode: 0o644, mtimeMs: 0, target: Buffer.alloc(0) }); // prettier-ignore
      await Promise.resolve();
      throw new Error('torn');
    };
    await assert.rejects(volumes.write(owner, { data: 'torn' }, torn(), never), /torn/);
    const over = new AbortController();
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      yield tarHeaders({ name: Buffer.from('data/x'), type: 'file', size: 2 ** 40, mode: 0o644, mtimeMs: 0, target: Buffer.alloc(0) }); // prettier-ignore
      yield Buffer.alloc(100_000);
      over.abort(new Error('enough'));
      await new Promise(() => undefined);
    };
    await assert.rejects(volumes.write(owner, { data: 'torn' }, endless(), over.signal), /enough/);
    const garbage = async function* (): AsyncGenerator<Uint8Array> {
      await Promise.resolve();
      yield Buffer.alloc(2048, 'x');
    };
    await assert.rejects(volumes.write(owner, { data: 'torn' }, garbage(), never), {
      code: 'RESTORE_FAILED',
    });
  });

  it('leave no container behind, not even by a process that died', async () => {
    const filters = { label: [`gangway.instance=${place.instance}`, 'gangway.volumes'] };
    const left = () => place.docker.listContainers({ all: true, filters });
    await until('they are gone', async () => (await left()).length === 0);
    await place.docker.createContainer({
      Image: `gangway-${place.instance}:volumes`,
      Cmd: ['none'],
      Labels: { 'gangway.instance': place.instance, 'gangway.volumes': 'files' },
    });
    const next = await place.reopen();
    const reading = next.volumes?.read(owner, { data: 'odd' }, never)[Symbol.asyncIterator]();
    await reading?.next();
    assert.equal((await left()).length, 1);
    await reading?.return?.();
    assert.equal((await left()).length, 0);
  });
});
