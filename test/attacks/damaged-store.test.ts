/** A store that is emptied, cut, spoiled or lost beside a key and an app never starts as a fresh instance. */
import assert from 'node:assert/strict';
import {
  cpSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { Gangway } from '../support/gangway.ts';

it('a damaged or missing store refuses to start, says the way out, and changes nothing', async (t) => {
  const gangway = await Gangway.open();
  t.after(() => gangway.end());
  await gangway.client.createApp('Shop');
  await gangway.stop();
  const { dataDir } = gangway;
  const folder = join(dataDir, 'store');
  const file = join(folder, 'data.mdb');
  const kept = join(dataDir, '..', 'kept');
  cpSync(folder, kept, { recursive: true });
  const key = readFileSync(join(dataDir, 'instance.key'));
  const { size } = statSync(file);

  const damages: [what: string, damage: () => void, why: RegExp][] = [
    ['emptied', () => truncateSync(file), /is empty, though instance\.key is there/],
    ['missing', () => rmSync(file), /is missing, though instance\.key is there/],
    ['without its folder', () => rmSync(folder, { recursive: true }), /is missing, though /],
    [
      'and key missing',
      () => {
        rmSync(file);
        renameSync(join(dataDir, 'instance.key'), `${kept}.key`);
      },
      /is missing, though instance\.key-check is there/,
    ],
    ['cut in half', () => truncateSync(file, size / 2), /is cut short/],
    ['cut to its head', () => truncateSync(file, 8192), /is cut short/],
    ['cut within its head', () => truncateSync(file, 4200), /is damaged/],
    ['nothing of LMDB', () => writeFileSync(file, 'x'.repeat(size)), /is damaged/],
    ['zeros', () => writeFileSync(file, Buffer.alloc(size)), /is damaged/],
  ];
  for (const [what, damage, why] of damages) {
    damage();
    const { code, signal, text } = await gangway.run(['serve']);
    assert.deepEqual([code, signal], [1, null], `${what}: ${text}`);
    assert.match(text, why, what);
    assert.match(text, /^gangway: Cannot open the store in .*; move \S+ away, then .*\.$/m, what);
    assert.doesNotMatch(text, /Gangway serves|setup\?code/, what);
    rmSync(folder, { recursive: true, force: true });
    cpSync(kept, folder, { recursive: true });
    if (what === 'and key missing') renameSync(`${kept}.key`, join(dataDir, 'instance.key'));
  }
  const { code, text } = await gangway.run(['snapshot', join(dataDir, '..', 'copy')]);
  assert.equal(code, 0, text);

  assert.deepEqual(readFileSync(join(dataDir, 'instance.key')), key);
  await gangway.start();
  const client = await gangway.signIn();
  const { apps } = await client.must<{ apps: { nodes: { name: string }[] } }>(
    '{ apps { nodes { name } } }',
  );
  assert.deepEqual(apps.nodes, [{ name: 'Shop' }]);
});
