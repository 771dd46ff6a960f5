import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type McpGateway, startMcpGateway } from '../../../support/mcp-gateway.ts';

let gateway: McpGateway;

before(async () => {
  gateway = await startMcpGateway();
});

after(() => gateway.close());

const inspector = 'http://localhost:6274';

describe('a page that asks the MCP endpoint from a browser', () => {
  it('may read the answer when it is on this machine, as we are', async () => {
    const response = await fetch(`${gateway.url}/api/mcp`, {
      method: 'POST',
      headers: { origin: inspector, 'content-type': 'application/json' },
      body: '{}',
    });
    assert.equal(response.status, 401);
    assert.equal(response.headers.get('access-control-allow-origin'), inspector);
    assert.match(response.headers.get('access-control-expose-headers') ?? '', /WWW-Authenticate/);
    assert.equal(response.headers.get('vary'), 'Origin');
  });

  it('is told beforehand what it may send', async () => {
    const response = await fetch(`${gateway.url}/api/mcp`, {
      method: 'OPTIONS',
      headers: { origin: inspector },
    });
    assert.equal(response.status, 204);
    assert.equal(response.headers.get('access-control-allow-origin'), inspector);
    const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase() ?? '';
    for (const name of ['authorization', 'mcp-protocol-version', 'mcp-method', 'mcp-name']) {
      assert.ok(allowed.includes(name), name);
    }
  });

  it('is refused, also beforehand, when it is on another site', async () => {
    for (const method of ['OPTIONS', 'POST']) {
      const response = await fetch(`${gateway.url}/api/mcp`, {
        method,
        headers: { origin: 'https://elsewhere.example' },
      });
      assert.equal(response.status, 403, method);
      assert.equal(response.headers.get('access-control-allow-origin'), null);
    }
  });
});
