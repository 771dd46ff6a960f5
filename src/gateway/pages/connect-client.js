/* Runs in the browser, on the page that connects MCP clients: copies snippets, tries a token. */
'use strict';

const endpoint = '/api/mcp';

/** A refusal in plain words: the service's message, and what the person can do. */
class Refused extends Error {}

const hints = {
  401: 'The token is unknown, expired or revoked, or a character of it is missing.',
  403: 'The token is good, but MCP is not open to it here.',
  404: 'This address does not serve MCP: is something in front of it?',
  429: 'Too many calls.',
  503: 'The service is busy or stopping.',
};

/** These hints are for codes that tell more than the status. */
const hintsByCode = {
  CROSS_SITE: 'Open this page at the public address of the instance, which is shown above.',
};

async function call(path, token, team, method, params) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${token}`,
  };
  if (team) headers['x-service-team'] = team;
  const response = await fetch(path, {
    method: 'POST',
    // MCP accepts tokens only. Without the cookie the page sees what the client will see.
    credentials: 'omit',
    redirect: 'error',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const body = await answerOf(response);
  if (response.ok && body && body.result) return body.result;
  throw new Refused(refusalOf(response, body));
}

/** Null when the answer is no JSON, such as a proxy's page. */
async function answerOf(response) {
  try {
    return JSON.parse(await response.text());
  } catch {
    return null;
  }
}

function refusalOf(response, body) {
  const said = body && ((body.error && body.error.message) || body.detail);
  const parts = [`Status ${response.status}.`];
  const hint = hintsByCode[body && body.code] || hints[response.status];
  if (hint) parts.push(hint);
  if (said) parts.push(`Gangway says: ${said}`);
  const wait = response.headers.get('retry-after');
  if (wait) parts.push(`Try again in ${wait} seconds.`);
  return parts.join(' ');
}

/** All tools of the address, page by page. */
async function toolsOf(path, token, team) {
  const names = [];
  let cursor;
  do {
    const result = await call(path, token, team, 'tools/list', cursor ? { cursor } : {});
    names.push(...result.tools.map((tool) => tool.name));
    cursor = result.nextCursor;
  } while (cursor && names.length < 1000);
  return names;
}

async function teamsOf(token, team) {
  const params = { name: 'list_teams', arguments: {} };
  const result = await call(endpoint, token, team, 'tools/call', params);
  const [first] = result.content || [];
  if (result.isError) throw new Refused((first && first.text) || 'list_teams failed.');
  const teams = Object.values(result.structuredContent || {}).find(Array.isArray) || [];
  return teams.map((one) => one.name || one.slug);
}

async function tell(path, token, team) {
  const tools = await toolsOf(path, token, team);
  const teams = await teamsOf(token, team);
  return [
    `Connected: ${tools.length === 1 ? '1 tool' : `${tools.length} tools`}, ` +
      `${teams.length === 1 ? '1 team' : `${teams.length} teams`}.`,
    `Teams: ${teams.join(', ') || 'none'}.`,
    `Tools: ${tools.join(', ') || 'none'}.`,
  ];
}

function show(output, kind, lines) {
  output.className = kind;
  output.replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement('p'), { textContent: line })),
  );
}

function setUpTest(form) {
  const field = form.querySelector('input');
  const button = form.querySelector('button');
  const output = form.querySelector('output');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const token = field.value.trim();
    button.disabled = true;
    show(output, '', ['Asking…']);
    try {
      show(output, 'good', await tell(form.dataset.path, token, form.dataset.team));
    } catch (error) {
      const text = error instanceof Refused ? error.message : 'The service was not reached.';
      show(output, 'bad', [text]);
    }
    button.disabled = false;
  });
  document.getElementById('untested').remove();
  form.hidden = false;
}

/** Browsers allow the clipboard only with https and on this machine. */
function addCopyButton(snippet) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(snippet.querySelector('pre').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  snippet.append(button);
}

const test = document.getElementById('test');
if (test) setUpTest(test);
if (navigator.clipboard) document.querySelectorAll('.snippet').forEach(addCopyButton);
