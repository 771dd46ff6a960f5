import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import defaults from '../../config/default.json' with { type: 'json' };
import { variableOf } from '../../src/config.ts';
import type { Config } from '../../src/config.ts';
import { errorTable } from '../../src/lib/errors.ts';
import { isolationLayers, lostWithout } from '../../src/protocol/isolation.ts';

const root = new URL('../../', import.meta.url);
const pages = readdirSync(new URL('docs/', root)).map((name) => `docs/${name}`);
const readmeMaxBytes = 14_000;

function textOf(page: string): string {
  return readFileSync(new URL(page, root), 'utf8');
}

/** The cells of the table between two markers of a page, without its head. */
function rowsOf(page: string, name: string): string[][] {
  const section = textOf(page).split(`<!-- ${name} -->`)[1]?.split(`<!-- /${name} -->`)[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
}

/** The anchors of a page's headings, as code hosts make them. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The links of a page that lead to files of ours, as [file, anchor]. */
function linksOf(page: string): [string, string | undefined][] {
  return [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !target.includes('://'))
    .map((target) => {
      const [file = '', anchor] = target.split('#');
      const found = file === '' ? new URL(page, root) : new URL(file, new URL(page, root));
      return [found.href.slice(root.href.length), anchor];
    });
}

describe('the documentation', () => {
  it('lists every error code with its status, and no other', () => {
    const listed = rowsOf('docs/errors.md', 'errors').map(([, code, status]) => [
      code,
      Number(status),
    ]);
    const known = Object.entries(errorTable).map(([code, { status }]) => [code, status]);
    assert.deepEqual(listed, known);
  });

  it('lists every option with its variable and default, and no other', () => {
    const listed = rowsOf('docs/configuration.md', 'options').map(([, option, variable, value]) => [
      option,
      variable,
      value,
    ]);
    const known = Object.entries(defaults).map(([option, value]) => [
      option,
      variableOf(option as keyof Config),
      ['edgeHost', 'agentHost'].includes(option)
        ? 'as host'
        : Array.isArray(value)
          ? ''
          : String(value),
    ]);
    assert.deepEqual(listed, known);
  });

  it('lists every layer of isolation with what does not hold without it, and no other', () => {
    const listed = rowsOf('docs/isolation.md', 'layers').map(([, layer, has, needs, lost]) => {
      assert.ok(has && needs, layer);
      return [layer, lost];
    });
    assert.deepEqual(
      listed,
      isolationLayers.map((layer) => [layer, lostWithout[layer]]),
    );
  });

  it('links to files and headings that are there', () => {
    for (const page of ['README.md', ...pages])
      for (const [file, anchor] of linksOf(page)) {
        assert.ok(existsSync(new URL(file, root)), `${page} links to ${file}`);
        assert.ok(
          anchor === undefined || anchorsOf(file).includes(anchor),
          `${page} links to ${file}#${anchor ?? ''}`,
        );
      }
  });
});

describe('the README', () => {
  it('opens with the two commands and the walk', () => {
    const headings = [...textOf('README.md').matchAll(/^#+ .+$|^npm \w+|^<!-- walk -->$/gm)].map(
      ([line]) => line,
    );
    assert.deepEqual(headings.slice(0, 5), [
      '# Gangway',
      'npm start',
      'npm test',
      '## Five minutes',
      '<!-- walk -->',
    ]);
  });

  it('is short, and links to every page of the documentation', () => {
    assert.ok(Buffer.byteLength(textOf('README.md')) <= readmeMaxBytes);
    const linked = linksOf('README.md').map(([file]) => file);
    assert.deepEqual(
      pages.filter((page) => !linked.includes(page)),
      [],
    );
  });
});
