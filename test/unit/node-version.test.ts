import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { nodeRefusal } from '../../src/node-version.mjs';
import manifest from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../../', import.meta.url));
const stripped = ['--import', './src/strip-cache.mjs', 'src/main.ts'];
/** A module that makes Node say that it is another. */
const otherwise = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;

function run(node: string, args: readonly string[]) {
  const quiet = ['--disable-warning=ExperimentalWarning', ...args, '--version'];
  const { status, stdout, stderr } = spawnSync(node, quiet, { cwd: root, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('nodeRefusal()', () => {
  it('takes the major version that Gangway brings, from the first that has all it uses', () => {
    const brought = manifest.dependencies.node.replace('^', '');
    for (const version of [brought, process.versions.node, '22.18.0', '22.99.1'])
      assert.equal(nodeRefusal(version, '/bin/node'), null, version);
  });

  it('names another one, where it is, and what to do', () => {
    for (const version of ['18.20.8', '20.20.2', '22.17.1', '23.4.0', '24.1.0', '122.18.0'])
      assert.equal(
        nodeRefusal(version, '/opt/node'),
        `Gangway runs on Node.js 22, from 22.18 on; this is ${version} (/opt/node). ` +
          'Start it by npm, which takes the Node.js that Gangway brings: node_modules/.bin/node.',
      );
  });
});

describe('the command line', () => {
  it('refuses another Node in one line, with and without what was stripped', () => {
    for (const version of ['20.20.2', '24.1.0'])
      for (const args of [stripped, ['src/main.ts']]) {
        const refused = run(process.execPath, ['--import', otherwise(version), ...args]);
        const line = `gangway: ${nodeRefusal(version, process.execPath) ?? ''}\n`;
        assert.deepEqual(refused, { status: 1, stdout: '', stderr: line });
      }
  });

  it('is run or refused by each Node of the machine, as its version says', () => {
    const folders = (process.env['PATH'] ?? '').split(delimiter);
    const found = folders.map((folder) => join(folder, 'node')).filter((file) => existsSync(file));
    const nodes = new Set([process.execPath, ...found].map((file) => realpathSync(file)));
    for (const node of nodes) {
      const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1);
      const refusal = nodeRefusal(version, node);
      const expected =
        refusal === null
          ? { status: 0, stdout: `${manifest.version}\n`, stderr: '' }
          : { status: 1, stdout: '', stderr: `gangway: ${refusal}\n` };
      assert.deepEqual(run(node, stripped), expected, node);
    }
  });
});
