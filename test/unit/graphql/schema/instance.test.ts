import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Principal } from '../../../../src/auth/principal.ts';
import { Engine } from '../../../../src/graphql/engine.ts';
import { createSchema } from '../../../../src/graphql/schema/schema.ts';
import { GraphqlFixture } from '../../../support/graphql-fixture.ts';

describe('setMcpSettings', () => {
  let fixture: GraphqlFixture;
  let engine: Engine;

  beforeEach(() => {
    fixture = new GraphqlFixture();
    const { limits } = fixture;
    engine = new Engine({ schema: createSchema(), limits, onInternal: () => undefined });
  });
  afterEach(() => fixture.close());

  async function run(query: string, principal: Principal = fixture.ann): Promise<unknown> {
    const { json } = await engine.answer(query, undefined, {}, fixture.context(principal));
    return JSON.parse(json);
  }

  it('switches MCP for the acting team, and mcpSettings says so', async () => {
    const settings = '{ mcpSettings { enabled } }';
    assert.deepEqual(await run(settings), { data: { mcpSettings: { enabled: true } } });
    for (const enabled of [false, true]) {
      assert.deepEqual(
        await run(`mutation { setMcpSettings(enabled: ${String(enabled)}) { enabled } }`),
        { data: { setMcpSettings: { enabled } } },
      );
      assert.deepEqual(await run(settings), { data: { mcpSettings: { enabled } } });
    }
  });
});
