import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { mcpClients } from '../../../src/protocol/mcp-clients.ts';
import type { Way } from '../../../src/protocol/mcp-clients.ts';

// Valid in an address, and special in shells, JSON or TOML.
const url = `https://o'panel.example.com/api/mcp?tools=apps,logs&readonly=1`;
const bearer = 'Bearer ';

function wayOf(id: string, way: 'oauth' | 'token', team: string | null = null): Way {
  const client = mcpClients({ url, team }).find((one) => one.id === id);
  assert.ok(client, id);
  return client[way];
}

function textOf(id: string, way: 'oauth' | 'token', team: string | null = null): string {
  return wayOf(id, way, team).snippets[0]?.text ?? '';
}

function json(id: string, way: 'oauth' | 'token', team: string | null = null): unknown {
  return JSON.parse(textOf(id, way, team));
}

/** The words of a command, as a shell reads them. */
function words(command: string): string[] {
  const program = command.slice(0, command.indexOf(' '));
  const script = `${program}() { printf '%s\\0' ${program} "$@"; }; ${command}`;
  const env = { GANGWAY_TOKEN: 'gwy_secret' };
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', env })
    .split('\0')
    .slice(0, -1);
}

describe('mcpClients()', () => {
  it('gives commands that a shell reads as they are meant', () => {
    assert.deepEqual(words(textOf('claudecode', 'oauth')), [
      ...['claude', 'mcp', 'add', '--transport', 'http', 'gangway', url],
    ]);
    assert.deepEqual(words(wayOf('claudecode', 'token', 'home').snippets[1]?.text ?? ''), [
      ...['claude', 'mcp', 'add', '--transport', 'http', 'gangway', url],
      ...['--header', 'Authorization: Bearer gwy_secret', '--header', 'X-Service-Team: home'],
    ]);
    assert.deepEqual(words(textOf('curl', 'token', 'home')), [
      ...['curl', '-sS', url, '-H', 'Content-Type: application/json'],
      ...['-H', 'Authorization: Bearer gwy_secret'],
      ...['-H', 'X-Service-Team: home'],
      ...['-d', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'],
    ]);
    const inspector = '@modelcontextprotocol/inspector';
    assert.deepEqual(words(textOf('inspector', 'oauth')), [
      ...['npx', inspector, '--transport', 'http', '--server-url', url],
    ]);
    assert.deepEqual(words(textOf('inspector', 'token')), [
      ...['npx', inspector, '--cli', url, '--transport', 'http', '--method', 'tools/list'],
      ...['--header', 'Authorization: Bearer gwy_secret'],
    ]);
    const code = wayOf('vscode', 'oauth').snippets[1]?.text ?? '';
    const [, flag, server = ''] = words(code);
    assert.equal(flag, '--add-mcp');
    assert.deepEqual(JSON.parse(server), { name: 'gangway', type: 'http', url });
  });

  it('gives files that hold the address alone for who signs in', () => {
    assert.deepEqual(json('cursor', 'oauth'), { mcpServers: { gangway: { url } } });
    assert.deepEqual(json('gemini', 'oauth'), { mcpServers: { gangway: { httpUrl: url } } });
    assert.deepEqual(json('vscode', 'oauth'), { servers: { gangway: { type: 'http', url } } });
    assert.equal(textOf('codex', 'oauth'), `[mcp_servers.gangway]\nurl = "${url}"`);
    assert.equal(textOf('claude', 'oauth'), url);
    assert.equal(textOf('others', 'oauth'), url);
  });

  it('gives files that take a token from elsewhere, in the syntax of each client', () => {
    const headers = (token: string): object => ({
      Authorization: `${bearer}${token}`,
      'X-Service-Team': 'home',
    });
    assert.deepEqual(json('claudecode', 'token', 'home'), {
      mcpServers: { gangway: { type: 'http', url, headers: headers('${GANGWAY_TOKEN}') } },
    });
    assert.deepEqual(json('cursor', 'token', 'home'), {
      mcpServers: { gangway: { url, headers: headers('${env:GANGWAY_TOKEN}') } },
    });
    assert.deepEqual(json('gemini', 'token', 'home'), {
      mcpServers: { gangway: { httpUrl: url, headers: headers('${GANGWAY_TOKEN}') } },
    });
    const { inputs, servers } = json('vscode', 'token', 'home') as {
      inputs: { id: string; password: boolean }[];
      servers: unknown;
    };
    assert.equal(inputs[0]?.password, true);
    assert.deepEqual(servers, {
      gangway: { type: 'http', url, headers: headers(`\${input:${inputs[0].id}}`) },
    });
    assert.equal(
      textOf('codex', 'token', 'home'),
      `[mcp_servers.gangway]\nurl = "${url}"\nbearer_token_env_var = "GANGWAY_TOKEN"\n` +
        `http_headers = { "X-Service-Team" = "home" }`,
    );
  });

  it('names no team where none is asked for', () => {
    const texts = mcpClients({ url, team: null }).flatMap(({ oauth, token }) =>
      [...oauth.snippets, ...token.snippets].map(({ text }) => text),
    );
    assert.ok(texts.length > 10);
    assert.deepEqual(
      texts.filter((text) => text.includes('X-Service-Team')),
      [],
    );
  });

  it('gives links that carry the same server', () => {
    const cursor = new URL(wayOf('cursor', 'oauth').link?.href ?? '');
    assert.equal(cursor.protocol, 'cursor:');
    const config = Buffer.from(cursor.searchParams.get('config') ?? '', 'base64').toString();
    assert.deepEqual(JSON.parse(config), { url });
    const install = 'vscode:mcp/install?';
    const href = wayOf('vscode', 'oauth').link?.href ?? '';
    assert.ok(href.startsWith(install));
    const server = href.slice(install.length);
    assert.deepEqual(JSON.parse(decodeURIComponent(server)), {
      name: 'gangway',
      type: 'http',
      url,
    });
  });

  it('says something of every client in both ways', () => {
    for (const { id, oauth, token } of mcpClients({ url, team: null })) {
      assert.match(id, /^[a-z]+$/);
      for (const { snippets, note } of [oauth, token]) {
        assert.ok(snippets.length > 0 || note !== undefined, id);
      }
    }
  });
});
