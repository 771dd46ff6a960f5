/**
 * Owns what people paste into the common MCP clients to connect them. There are two ways for each client:
 * signing in (OAuth, which needs only the address), and an API token.
 *
 * 1. No snippet holds a secret or a place to paste one, so that a shared snippet gives nothing away. A
 *    token comes from the variable `GANGWAY_TOKEN`, or the client asks for it.
 * 2. A snippet is right whatever the address, which is ASCII as addresses are: it is quoted for its shell, JSON or TOML.
 * 3. The page of the server and the dashboard in a browser have it from here.
 */

/** One text to paste, and where to. */
export interface Snippet {
  /** What to do with the text, in a few words; file names stand in it as they are. */
  readonly into: string;
  readonly text: string;
}

/** A link that makes the client set itself up. */
export interface ClientLink {
  readonly label: string;
  readonly href: string;
}

export interface Way {
  readonly snippets: readonly Snippet[];
  readonly link?: ClientLink;
  readonly note?: string;
}

export interface McpClient {
  /** For ids in the page: lower-case letters. */
  readonly id: string;
  readonly name: string;
  readonly oauth: Way;
  readonly token: Way;
}

export interface Endpoint {
  readonly url: string;
  /** The slug for `X-Service-Team`; null for the token's own first team. */
  readonly team: string | null;
}

const name = 'gangway';
const variable = 'GANGWAY_TOKEN';

export function mcpClients(endpoint: Endpoint): McpClient[] {
  return [
    claudeCode(endpoint),
    claude(endpoint),
    cursor(endpoint),
    vsCode(endpoint),
    codex(endpoint),
    gemini(endpoint),
    inspector(endpoint),
    curl(endpoint),
    others(endpoint),
  ];
}

/** A way with one text to paste. */
function paste(into: string, text: string, more: Omit<Way, 'snippets'> = {}): Way {
  return { snippets: [{ into, text }], ...more };
}

function claudeCode({ url, team }: Endpoint): McpClient {
  const server = { type: 'http', url, headers: headersWith(`\${${variable}}`, team) };
  const add = `claude mcp add --transport http ${name} ${sh(url)}`;
  const headers = shellHeaders(team).map((one) => `--header ${one}`);
  return {
    id: 'claudecode',
    name: 'Claude Code',
    oauth: paste('In a terminal', add, { note: 'Then /mcp in Claude Code signs you in.' }),
    token: {
      snippets: [
        { into: '.mcp.json of the project, which may be shared', text: servers(server) },
        { into: 'Or in a terminal, for yourself', text: [add, ...headers].join(' \\\n  ') },
      ],
    },
  };
}

/** Claude's connectors take an address and nothing else. */
function claude({ url }: Endpoint): McpClient {
  return {
    id: 'claude',
    name: 'Claude Desktop, claude.ai',
    oauth: paste('Settings, Connectors, Add custom connector', url, {
      note: 'Connectors are called from the internet: this address has to be https and public.',
    }),
    token: {
      snippets: [],
      note: 'The connectors of claude.ai and Claude Desktop take no token: sign in instead.',
    },
  };
}

function cursor({ url, team }: Endpoint): McpClient {
  const into = '.cursor/mcp.json of the project, or ~/.cursor/mcp.json';
  const config = btoa(JSON.stringify({ url }));
  const query = new URLSearchParams({ name, config }).toString();
  const href = `cursor://anysphere.cursor-deeplink/mcp/install?${query}`;
  const headers = headersWith(`\${env:${variable}}`, team);
  return {
    id: 'cursor',
    name: 'Cursor',
    oauth: paste(into, servers({ url }), { link: { label: 'Add to Cursor', href } }),
    token: paste(into, servers({ url, headers })),
  };
}

function vsCode({ url, team }: Endpoint): McpClient {
  const server = { type: 'http', url };
  const named = JSON.stringify({ name, ...server });
  const id = `${name}-token`;
  const input = { type: 'promptString', id, description: 'Gangway API token', password: true };
  const headers = headersWith(`\${input:${id}}`, team);
  const withToken = { inputs: [input], servers: { [name]: { ...server, headers } } };
  return {
    id: 'vscode',
    name: 'VS Code',
    oauth: {
      snippets: [
        { into: '.vscode/mcp.json', text: pretty({ servers: { [name]: server } }) },
        { into: 'Or in a terminal', text: `code --add-mcp ${sh(named)}` },
      ],
      link: { label: 'Add to VS Code', href: `vscode:mcp/install?${encodeURIComponent(named)}` },
    },
    token: paste('.vscode/mcp.json', pretty(withToken), {
      note: 'VS Code asks for the token once and keeps it encrypted, outside the file.',
    }),
  };
}

function codex({ url, team }: Endpoint): McpClient {
  const into = '~/.codex/config.toml';
  // A JSON string is a basic string of TOML.
  const table = `[mcp_servers.${name}]\nurl = ${JSON.stringify(url)}`;
  const inTeam =
    team === null ? '' : `\nhttp_headers = { "${teamHeader}" = ${JSON.stringify(team)} }`;
  return {
    id: 'codex',
    name: 'Codex',
    oauth: {
      snippets: [
        { into, text: table },
        { into: 'Then in a terminal', text: `codex mcp login ${name}` },
      ],
    },
    token: paste(into, `${table}\nbearer_token_env_var = "${variable}"${inTeam}`),
  };
}

function gemini({ url, team }: Endpoint): McpClient {
  const into = '~/.gemini/settings.json, or .gemini/settings.json of the project';
  const headers = headersWith(`\${${variable}}`, team);
  const note = `Then /mcp auth ${name} in Gemini CLI signs you in.`;
  return {
    id: 'gemini',
    name: 'Gemini CLI',
    oauth: paste(into, servers({ httpUrl: url }), { note }),
    token: paste(into, servers({ httpUrl: url, headers })),
  };
}

function inspector({ url, team }: Endpoint): McpClient {
  const command = 'npx @modelcontextprotocol/inspector';
  const list = `${command} --cli ${sh(url)} --transport http --method tools/list`;
  const headers = shellHeaders(team).map((one) => `--header ${one}`);
  return {
    id: 'inspector',
    name: 'MCP Inspector',
    oauth: paste('In a terminal', `${command} --transport http --server-url ${sh(url)}`, {
      note: 'It opens in the browser; Connect there signs you in.',
    }),
    token: paste('In a terminal', [list, ...headers].join(' \\\n  ')),
  };
}

function curl({ url, team }: Endpoint): McpClient {
  const headers = ['"Content-Type: application/json"', ...shellHeaders(team)];
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const lines = [
    `curl -sS ${sh(url)}`,
    ...headers.map((one) => `-H ${one}`),
    `-d ${sh(JSON.stringify(call))}`,
  ];
  return {
    id: 'curl',
    name: 'curl',
    oauth: { snippets: [], note: 'curl does not sign in: use a token.' },
    token: paste('In a terminal', lines.join(' \\\n  ')),
  };
}

function others({ url, team }: Endpoint): McpClient {
  const address = { into: 'The address, over streamable HTTP', text: url };
  const headers = headersWith(`\${${variable}}`, team);
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  return {
    id: 'others',
    name: 'Others',
    oauth: {
      snippets: [address],
      note: 'A client that registers itself, or has a metadata document, finds the rest.',
    },
    token: { snippets: [address, { into: 'Headers', text: lines.join('\n') }] },
  };
}

const teamHeader = 'X-Service-Team';

function headersWith(token: string, team: string | null): Record<string, string> {
  return {
    Authorization: `Bearer ${token}`,
    ...(team !== null && { [teamHeader]: team }),
  };
}

/** Each header in double quotes, for a shell that fills in the variable. */
function shellHeaders(team: string | null): string[] {
  const inTeam = team === null ? [] : [sh(`${teamHeader}: ${team}`)];
  return [`"Authorization: Bearer $${variable}"`, ...inTeam];
}

function servers(server: object): string {
  return pretty({ mcpServers: { [name]: server } });
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Quotes one word for a POSIX shell. */
function sh(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
