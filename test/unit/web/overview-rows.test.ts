import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rowsOf, type Thing } from '../../../web/pages/overview/things.ts';

const folders = [{ id: 'fld_1', name: 'Website', parentId: null }];
const thing = (name: string): Thing => ({
  ...{ kind: 'app', id: name, name, href: '', what: 'Upload', status: 'active' },
  url: `http://${name.toLowerCase().replace(' ', '-')}.apps.localhost:41032`,
  ...{ folderId: 'fld_1', changedAt: '2026-01-01T00:00:00Z' },
});
const things = [thing('Shop 9'), thing('Shop 10')];

function found(search: string): string[] {
  return rowsOf(things, folders, { search, order: 'name' }).flatMap((row) =>
    row.kind === 'thing' ? row.thing.name : [],
  );
}

describe('the search of the overview', () => {
  it('looks for each word in name, source, host and folder', () => {
    assert.deepEqual(found('webs 10'), ['Shop 10']);
    assert.deepEqual(found('upload shop'), ['Shop 9', 'Shop 10']);
    assert.deepEqual(found('shop-9.apps'), ['Shop 9']);
    assert.deepEqual(found('nothing'), []);
  });

  it('takes an address as it stands in a browser, and never the port that all have', () => {
    assert.deepEqual(found('http://shop-9.apps.localhost:41032/cart'), ['Shop 9']);
    assert.deepEqual(found('41032'), []);
  });
});

describe('the folders of the overview', () => {
  const all = [
    ...folders,
    { id: 'fld_2', name: 'Old', parentId: 'fld_1' },
    { id: 'fld_3', name: 'Attic', parentId: null },
    { id: 'fld_4', name: 'Attic', parentId: null },
  ];
  const told = (search: string): string[] =>
    rowsOf([...things, { ...thing('Loose'), folderId: 'fld_unseen' }], all, {
      ...{ search, order: 'name' },
    }).map((row) =>
      row.kind === 'thing'
        ? row.thing.name
        : `${row.path} ${String(row.count)}${row.isEmpty ? ' empty' : ''}`,
    );

  it('are all there, each for itself, and say in which nothing is', () => {
    assert.deepEqual(told(''), [
      ...['Loose', 'Attic 0 empty', 'Attic 0 empty', 'Website 2', 'Shop 9', 'Shop 10'],
      'Website / Old 0 empty',
    ]);
  });

  it('are left out of a search that finds nothing in them', () => {
    assert.deepEqual(told('shop'), ['Website 2', 'Shop 9', 'Shop 10']);
  });
});
