import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capabilities, type Capability } from '../../../src/lib/capabilities.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { Catalog } from '../../../src/mcp/catalog.ts';
import type { Tool } from '../../../src/mcp/tool.ts';

function tool(name: string, over: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    group: 'apps',
    effect: 'reads',
    idempotent: false,
    needs: null,
    input: {
      schema: { type: 'object', properties: {}, additionalProperties: false },
      read: () => ({ ok: true, value: {} }),
    },
    output: null,
    run: () => ({ kind: 'text', text: '' }),
    ...over,
  };
}

const made = [
  tool('deploy', { group: 'deployments', effect: 'changes', needs: 'deploy_apps' }),
  tool('delete', { effect: 'destroys', needs: 'delete_apps' }),
  tool('look'),
  tool('set', { group: 'env', effect: 'changes', needs: 'manage_env', idempotent: true }),
  tool('logs', { group: 'logs', needs: 'view_logs', output: { type: 'object' } }),
];
const tail = '"resultType":"complete"}';
const catalog = new Catalog({ tools: made, tail });
const all = new Set(capabilities);

interface List {
  tools: { name: string; annotations: object; outputSchema?: object }[];
  ttlMs: number;
}

const listOf = (held: ReadonlySet<Capability>, query = ''): List => {
  const response = catalog.list(held, catalog.select(query)).response(1);
  return (JSON.parse(response.toString()) as { result: List }).result;
};
const namesOf = (query: string, held: ReadonlySet<Capability> = all): string[] =>
  listOf(held, query).tools.map(({ name }) => name);

describe('Catalog', () => {
  it('lists what is harmless first, else in its own order', () => {
    assert.deepEqual(namesOf(''), ['look', 'logs', 'deploy', 'delete', 'set']);
  });

  it('lists what can be called with the capabilities held', () => {
    assert.deepEqual(namesOf('', new Set()), ['look']);
    assert.deepEqual(namesOf('', new Set(['view_logs', 'deploy_apps'])), [
      'look',
      'logs',
      'deploy',
    ]);
  });

  it('says all four hints of each tool, and a schema of its answer where there is one', () => {
    const { tools } = listOf(all);
    const hintsOf = (name: string) => tools.find((one) => one.name === name)?.annotations;
    const hints = (readOnlyHint: boolean, destructiveHint: boolean, idempotentHint: boolean) => ({
      readOnlyHint,
      destructiveHint,
      idempotentHint,
      openWorldHint: false,
    });
    assert.deepEqual(hintsOf('look'), hints(true, false, true));
    assert.deepEqual(hintsOf('deploy'), hints(false, false, false));
    assert.deepEqual(hintsOf('set'), hints(false, false, true));
    assert.deepEqual(hintsOf('delete'), hints(false, true, false));
    assert.deepEqual(
      tools.map((one) => 'outputSchema' in one),
      [false, true, false, false, false],
    );
  });

  it('gives the same bytes for the same set of tools, however it is asked for', () => {
    const held = new Set<Capability>(['view_logs', 'manage_env']);
    const turned = new Set<Capability>(['manage_env', 'view_logs']);
    const list = catalog.list(held, catalog.select('tools=env,logs'));
    assert.equal(catalog.list(turned, catalog.select('tools=logs&tools=env')), list);
    assert.equal(catalog.list(held, catalog.select('tools=env,logs')), list);
  });

  it('chooses by group, by name and by what changes nothing', () => {
    assert.deepEqual(namesOf('tools=env'), ['set']);
    assert.deepEqual(namesOf('tools=%20env%20,look'), ['look', 'set']);
    assert.deepEqual(namesOf('tools=read'), ['look', 'logs']);
    assert.deepEqual(namesOf('tools=read,set'), ['look', 'logs', 'set']);
    assert.deepEqual(namesOf('readonly=1&tools=apps,set'), ['look']);
    assert.deepEqual(namesOf('Tools=logs'), ['logs']);
    assert.deepEqual(namesOf('tools=,'), namesOf(''));
    assert.deepEqual(namesOf('other=1'), namesOf(''));
  });

  it('takes readonly in each of its spellings, and as on when any says so', () => {
    for (const query of ['readonly', 'readonly=', 'readonly=1', 'readonly=true', 'readOnly=1']) {
      assert.deepEqual(namesOf(query), ['look', 'logs'], query);
    }
    assert.deepEqual(namesOf('readonly=0&readonly=1'), ['look', 'logs']);
    for (const query of ['readonly=0', 'readonly=false']) {
      assert.deepEqual(namesOf(query), namesOf(''), query);
    }
  });

  it('refuses what names nothing', () => {
    const wrong = ['tools=nonsense', 'tools=look,__proto__', 'tools=constructor', 'readonly=yes'];
    for (const query of [...wrong, 'readonly=1&readonly=x']) {
      assert.throws(
        () => catalog.select(query),
        (error) => error instanceof ServiceError && error.code === 'BAD_REQUEST',
        query,
      );
    }
  });

  it('finds a tool only where it is chosen', () => {
    assert.equal(catalog.find('set', catalog.select('')), made[3]);
    assert.equal(catalog.find('set', catalog.select('readonly=1')), undefined);
    for (const name of ['none', '__proto__', 'constructor', '']) {
      assert.equal(catalog.find(name, catalog.select('')), undefined);
      assert.equal(catalog.has(name), false);
    }
  });

  it('stays right however many addresses and sets of capabilities there are', () => {
    for (let i = 0; i < 2_000; i++) {
      const held = new Set(capabilities.filter((_, bit) => (i >> (bit % 11)) % 2 === 1));
      const query = `tools=logs&n=${i}`;
      assert.deepEqual(namesOf(query, held), held.has('view_logs') ? ['logs'] : []);
    }
  });

  it('refuses two tools of one name', () => {
    assert.throws(() => new Catalog({ tools: [tool('a'), tool('a')], tail }));
  });
});
