import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GraphqlReply, ToolCall } from '../../../../src/mcp/tool.ts';
import { awaitDeployment } from '../../../../src/mcp/tools/await-deployment.ts';

/** A call whose looks at the deployment give these in turn, the last one for ever; null: refused. */
function callSeeing(...statuses: (string | null)[]) {
  const told: string[] = [];
  let following = 0;
  let looks = 0;
  const graphql = (): GraphqlReply => {
    const status = statuses[Math.min(looks++, statuses.length - 1)] ?? null;
    if (status === null) return { clean: false, dataJson: 'null', errors: ['Gone. (NOT_FOUND)'] };
    const deployment = { id: 'dpl_1', appId: 'app_1', status };
    return { clean: true, dataJson: JSON.stringify({ deployment }), errors: [] };
  };
  async function* subscribe(): AsyncGenerator<string, void> {
    following++;
    try {
      for (;;) yield await Promise.resolve('{}');
    } finally {
      following--;
    }
  }
  const call = { graphql, subscribe, progress: (message: string) => told.push(message) };
  return { call: call as unknown as ToolCall, told, following: () => following };
}

describe('awaitDeployment()', () => {
  it('tells of each status once, and follows nothing any more when it has ended', async () => {
    const { call, told, following } = callSeeing('queued', 'queued', 'building', 'ready');
    const { state } = await awaitDeployment(call, 'dpl_1', 10_000);
    assert.equal(state?.status, 'ready');
    assert.deepEqual(told, [
      'Deployment dpl_1 is queued.',
      'Deployment dpl_1 is building.',
      'Deployment dpl_1 is ready.',
    ]);
    assert.equal(following(), 0);
  });

  it('follows nothing any more where the right to see it was lost', async () => {
    const { call, following } = callSeeing('queued', null);
    assert.deepEqual(await awaitDeployment(call, 'dpl_1', 10_000), {
      state: null,
      sentence: 'Gone. (NOT_FOUND)',
    });
    assert.equal(following(), 0);
  });
});
